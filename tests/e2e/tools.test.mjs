// The contract of each tool: what it answers when all is well, and which words its refusals contain.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bad, bash, connect, contains, good, lacks, makeWorkspace } from './lib.mjs';

const lines = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => `line ${from + i}`).join('\n');

test('read_file', async (t) => {
  const dir = makeWorkspace(t);
  const client = await connect(t, dir);
  const put = (name, content) => writeFileSync(join(dir, name), content);
  put('two.txt', 'one\ntwo\n');
  put('long.txt', `${lines(1, 200)}\n`);
  put('binary', Buffer.from('ab\0cd'));
  put('latin1.txt', Buffer.from('caf\xe9\n', 'latin1'));
  put('crlf.txt', 'a\r\nb\r\n');
  put('empty', '');
  mkdirSync(join(dir, 'folder'));

  await t.test('the whole of a short file', async () => assert.equal(await good(client, 'read_file', { filepath: 'two.txt' }), 'one\ntwo'));
  await t.test('an absolute path in the workspace', async () => assert.equal(await good(client, 'read_file', { filepath: '/workspace/two.txt' }), 'one\ntwo'));
  await t.test('the first 100 lines, and where to go on', async () => {
    const text = await good(client, 'read_file', { filepath: 'long.txt' }, 'line 100');
    assert.ok(text.startsWith(lines(1, 100)));
    lacks(text, 'line 101\n');
    contains(text, /offset.*100|100.*200/);
  });
  await t.test('offset and limit', async () => assert.equal(await good(client, 'read_file', { filepath: 'long.txt', offset: 2, limit: 2 }), 'line 3\nline 4'));
  await t.test('limit 0 reads to the end', async () => assert.equal(await good(client, 'read_file', { filepath: 'long.txt', offset: 198, limit: 0 }), 'line 199\nline 200'));
  await t.test('a negative offset counts from the end', async () => contains(await good(client, 'read_file', { filepath: 'long.txt', offset: -1 }), 'line 200'));
  await t.test('past the end', async () => assert.equal(await good(client, 'read_file', { filepath: 'two.txt', offset: 9999 }), ''));
  await t.test('an empty file', async () => assert.equal(await good(client, 'read_file', { filepath: 'empty' }), ''));
  await t.test('bytes that are no UTF-8', async () => contains(await good(client, 'read_file', { filepath: 'latin1.txt' }), 'caf\uFFFD'));
  await t.test('CRLF', async () => assert.equal(await good(client, 'read_file', { filepath: 'crlf.txt' }), 'a\nb'));
  await t.test('numbers as strings', async () => assert.equal(await good(client, 'read_file', { filepath: 'long.txt', offset: '5', limit: '1' }), 'line 6'));
  await t.test('missing', () => bad(client, 'read_file', { filepath: 'none.txt' }, "File 'none.txt' not found"));
  await t.test('a name that is not quite right', () => bad(client, 'read_file', { filepath: 'tow.txt' }, "File 'tow.txt' not found. Did you mean 'two.txt'?"));
  await t.test('a folder', () => bad(client, 'read_file', { filepath: 'folder' }, 'is a directory', 'list_directory'));
  await t.test('binary', () => bad(client, 'read_file', { filepath: 'binary' }, 'appears to be binary'));
  await t.test('no path', () => bad(client, 'read_file', {}, 'filepath'));
  await t.test('an unknown parameter', () => bad(client, 'read_file', { filepath: 'two.txt', colour: 1 }, 'colour'));
  await t.test('a wrong type', () => bad(client, 'read_file', { filepath: 'two.txt', limit: 5.5 }, 'limit'));
  await t.test('a FIFO and a device answer at once', async () => {
    await bash(client, 'mkfifo pipe; ln -s /dev/zero zero');
    await bad(client, 'read_file', { filepath: 'pipe' });
    await bad(client, 'read_file', { filepath: 'zero' });
  });
  await t.test('a NUL byte, a very long path', async () => {
    await bad(client, 'read_file', { filepath: 'a\0b' });
    await bad(client, 'read_file', { filepath: 'x/'.repeat(5000) });
    await good(client, 'read_file', { filepath: 'two.txt' });
  });
});

test('write_file', async (t) => {
  const dir = makeWorkspace(t);
  const client = await connect(t, dir);
  const get = (name) => readFileSync(join(dir, name), 'utf8');

  await t.test('a new file', async () => {
    await good(client, 'write_file', { filepath: 'new.txt', content: 'h\u00e9llo\n' }, 'Successfully wrote 7 bytes');
    assert.equal(get('new.txt'), 'h\u00e9llo\n');
    assert.equal(statSync(join(dir, 'new.txt')).uid, process.getuid());
    assert.equal(statSync(join(dir, 'new.txt')).mode & 0o777, 0o644);
  });
  await t.test('what exists is kept', async () => {
    await bad(client, 'write_file', { filepath: 'new.txt', content: 'other' }, 'already exists');
    assert.equal(get('new.txt'), 'h\u00e9llo\n');
  });
  await t.test('unless create_only is false; the mode stays', async () => {
    chmodSync(join(dir, 'new.txt'), 0o755);
    await good(client, 'write_file', { filepath: 'new.txt', content: 'other', create_only: false }, 'Successfully wrote 5 bytes');
    assert.equal(get('new.txt'), 'other');
    assert.equal(statSync(join(dir, 'new.txt')).mode & 0o777, 0o755);
  });
  await t.test('parent folders are made', async () => {
    await good(client, 'write_file', { filepath: 'a/b/c.txt', content: 'x' });
    assert.equal(get('a/b/c.txt'), 'x');
  });
  await t.test('bad Python is not written, nor a folder for it', async () => {
    await bad(client, 'write_file', { filepath: 'made/bad.py', content: 'def foo(:\n    pass\n' }, 'Python syntax error at line 1');
    assert.ok(!existsSync(join(dir, 'made')));
    await good(client, 'write_file', { filepath: 'good.py', content: 'def foo():\n    pass\n' });
  });
  await t.test('bad JSON and JSON Lines', async () => {
    await bad(client, 'write_file', { filepath: 'bad.json', content: '{"a": 1' }, 'JSON parse error at line 1');
    await bad(client, 'write_file', { filepath: 'bad.jsonl', content: '{"a": 1}\n{"b":\n' }, 'JSONL parse error at line 2');
    await good(client, 'write_file', { filepath: 'good.json', content: '{"a": [1, 2.5e3, "\\u00e9"]}\n' });
    await good(client, 'write_file', { filepath: 'good.jsonl', content: '{"a": 1}\n\n[2]\n' });
    await good(client, 'write_file', { filepath: 'any.txt', content: '{"a": 1' });
    assert.deepEqual(readdirSync(dir).filter((name) => name.startsWith('bad')), []);
  });
  await t.test('5 MiB is written, one byte more is not', async () => {
    const most = 'x'.repeat(5 * 1024 * 1024);
    await good(client, 'write_file', { filepath: 'big.txt', content: most }, 'Successfully wrote 5242880 bytes');
    assert.equal(statSync(join(dir, 'big.txt')).size, most.length);
    await bad(client, 'write_file', { filepath: 'bigger.txt', content: `${most}y` }, 'exceeds MAX_WRITE_SIZE_BYTES');
    assert.ok(!existsSync(join(dir, 'bigger.txt')));
  });
  await t.test('a folder in the place, a file in the way', async () => {
    await bad(client, 'write_file', { filepath: 'a', content: 'x' }, 'a');
    await bad(client, 'write_file', { filepath: 'new.txt/below', content: 'x' });
  });
  await t.test('no temporary file stays, and names next to it survive', async () => {
    writeFileSync(join(dir, 'n.txt.tmp'), 'mine');
    await good(client, 'write_file', { filepath: 'n.txt', content: 'x' });
    assert.equal(get('n.txt.tmp'), 'mine');
    await good(client, 'write_file', { filepath: 'n'.repeat(255), content: 'x' });
    assert.deepEqual(readdirSync(dir).filter((name) => name.startsWith('.cloche-tmp')), []);
  });
  await t.test('an empty file', async () => {
    await good(client, 'write_file', { filepath: 'nothing', content: '' }, 'Successfully wrote 0 bytes');
    assert.equal(statSync(join(dir, 'nothing')).size, 0);
  });
});

test('list_directory', async (t) => {
  const dir = makeWorkspace(t);
  const client = await connect(t, dir);

  await t.test('an empty workspace', () => good(client, 'list_directory', {}, 'Directory is empty'));
  await t.test('folders first, sorted, without what is not the agent\'s business', async () => {
    for (const name of ['b', 'a', '.git', '__pycache__', '.venv']) mkdirSync(join(dir, name), { recursive: true }); // .git is occupied
    for (const name of ['z.txt', 'Y.txt', '.hidden']) writeFileSync(join(dir, name), '');
    symlinkSync('a', join(dir, 'to-a'));
    symlinkSync('nowhere', join(dir, 'dangling'));
    assert.equal(await good(client, 'list_directory', { path: '.' }),
      '[D] a\n[D] b\n[D] to-a\n[F] .hidden\n[F] Y.txt\n[F] dangling\n[F] z.txt');
  });
  await t.test('a folder in it', () => good(client, 'list_directory', { path: 'a/' }, 'Directory is empty'));
  await t.test('missing', () => bad(client, 'list_directory', { path: 'none' }, "Path 'none' not found"));
  await t.test('a file', () => bad(client, 'list_directory', { path: 'z.txt' }, 'is not a directory'));
  await t.test('ten thousand entries are cut', async () => {
    await bash(client, 'mkdir many && cd many && seq 10000 | xargs touch');
    contains(await good(client, 'list_directory', { path: 'many' }), 'truncated');
    contains(await good(client, 'list_directory', { path: 'many', offset: 9999 }), /^\[F\] \d+$/);
  });
});

test('search_workspace', async (t) => {
  const dir = makeWorkspace(t);
  const client = await connect(t, dir);
  for (const name of ['src/x/y', 'tests', '.git', 'node_modules/m']) mkdirSync(join(dir, name), { recursive: true });
  for (const name of ['a.py', 'src/b.py', 'src/x/y/c.py', 'tests/test_a.py', 'notes.txt', '.git/d.py', 'node_modules/m/e.py'])
    writeFileSync(join(dir, name), '');

  await t.test('at any depth', async () => {
    const text = await good(client, 'search_workspace', { pattern: '**/*.py' }, 'matches:', 'a.py', 'src/b.py', 'src/x/y/c.py', 'tests/test_a.py');
    lacks(text, 'notes.txt');
    lacks(text, '.git/');
  });
  await t.test('below a folder', async () => {
    const text = await good(client, 'search_workspace', { pattern: 'src/**/*.py' }, 'Found 2 matches:', 'src/b.py', 'src/x/y/c.py');
    lacks(text, 'tests/');
  });
  await t.test('by name', () => good(client, 'search_workspace', { pattern: 'test_*.py' }, 'Found 1 matches:\ntests/test_a.py'));
  await t.test('exclude', async () => {
    const text = await good(client, 'search_workspace', { pattern: '**/*.py', exclude_patterns: ['tests/*', 'node_modules'] }, 'a.py');
    lacks(text, 'tests/');
    lacks(text, 'node_modules');
  });
  await t.test('an exclude list as a string', () => good(client, 'search_workspace', { pattern: 'test_*.py', exclude_patterns: '["tests/*"]' }, 'No files found'));
  await t.test('nothing', () => good(client, 'search_workspace', { pattern: '*.rs' }, 'No files found'));
  await t.test('patterns that leave the workspace', async () => {
    for (const pattern of ['../etc/passwd', '/etc/passwd', '~/x', 'src/../../x'])
      await bad(client, 'search_workspace', { pattern }, 'Path traversal or absolute paths are not allowed');
  });
  await t.test('a bad pattern', () => bad(client, 'search_workspace', { pattern: '' }, 'Invalid glob pattern'));
  await t.test('exactly the cap, and one more', async () => {
    await bash(client, 'mkdir fifty && cd fifty && seq -f %g.dat 50 | xargs touch');
    lacks(await good(client, 'search_workspace', { pattern: '*.dat' }, 'Found 50 matches'), 'truncated');
    await bash(client, 'touch fifty/51.dat');
    await good(client, 'search_workspace', { pattern: '*.dat' }, 'Found 50 matches', 'truncated', '1 to 50 of 51');
    await good(client, 'search_workspace', { pattern: '*.dat', offset: 50 }, 'Found 1 matches');
  });
});

test('search_and_replace', async (t) => {
  const dir = makeWorkspace(t);
  const client = await connect(t, dir);
  const put = (name, content) => writeFileSync(join(dir, name), content);
  const get = (name) => readFileSync(join(dir, name), 'utf8');
  const edit = (filepath, ...edits) => ({ filepath, edits: edits.map(([o, n]) => ({ old: o, new: n })) });

  await t.test('two exact edits', async () => {
    put('a.txt', 'one\ntwo\nthree\n');
    await good(client, 'search_and_replace', edit('a.txt', ['one', '1'], ['three', '3']),
      'Successfully applied 2 edits (2 exact, 0 fuzzy-matched)', '-one', '+1', '-three', '+3');
    assert.equal(get('a.txt'), '1\ntwo\n3\n');
  });
  await t.test('a dry run changes nothing', async () => {
    put('a.txt', 'one\n');
    await good(client, 'search_and_replace', { ...edit('a.txt', ['one', '1']), dry_run: true }, 'DRY RUN', '-one', '+1');
    assert.equal(get('a.txt'), 'one\n');
  });
  await t.test('all or nothing', async () => {
    put('a.txt', 'one\ntwo\n');
    await bad(client, 'search_and_replace', edit('a.txt', ['one', '1'], ['missing', 'x']), 'Edit 1', 'not found');
    assert.equal(get('a.txt'), 'one\ntwo\n');
  });
  await t.test('not found names the edit', () => bad(client, 'search_and_replace', edit('a.txt', ['nope', 'x']), 'Edit 0', 'not found'));
  await t.test('twice', async () => {
    put('a.txt', 'item\nitem\n');
    await bad(client, 'search_and_replace', edit('a.txt', ['item', 'x']), 'found 2 times (exact match)');
    await bad(client, 'search_and_replace', edit('a.txt', ['  item  ', 'x']), 'Found 2 fuzzy matches');
  });
  await t.test('wrong indentation is matched, the file\'s is kept', async () => {
    put('f.py', "def func():\n    print('match me')\n");
    await good(client, 'search_and_replace', edit('f.py', ["  print('match me')  ", "print('replaced')"]), '1 edits (0 exact, 1 fuzzy-matched)');
    assert.equal(get('f.py'), "def func():\n    print('replaced')\n");
  });
  await t.test('a method with its body', async () => {
    put('c.py', 'class A:\n    def f(self):\n        return 1\n');
    await good(client, 'search_and_replace', edit('c.py', ['  def f(self):\n    return 1', 'def f(self):\n    return 2']), '1 fuzzy-matched');
    assert.equal(get('c.py'), 'class A:\n    def f(self):\n        return 2\n');
  });
  await t.test('tabs stay tabs', async () => {
    put('t.py', "def func():\n\tprint('tabs')\n");
    await good(client, 'search_and_replace', edit('t.py', ["    print('tabs')", "print('done')"]));
    assert.equal(get('t.py'), "def func():\n\tprint('done')\n");
  });
  await t.test('one exact, one fuzzy', async () => {
    put('m.txt', 'alpha\n    beta\n');
    await good(client, 'search_and_replace', edit('m.txt', ['alpha', 'A'], ['  beta  ', 'B']), '2 edits (1 exact, 1 fuzzy-matched)');
  });
  await t.test('bad Python is refused, the file is untouched', async () => {
    put('p.py', 'x = 1\n');
    await bad(client, 'search_and_replace', edit('p.py', ['x = 1', 'x = (']), 'Python syntax error');
    assert.equal(get('p.py'), 'x = 1\n');
  });
  await t.test('CRLF stays CRLF', async () => {
    put('crlf.txt', 'line1\r\nline2\r\n');
    await good(client, 'search_and_replace', edit('crlf.txt', ['line1\nline2', 'new1\nnew2']));
    assert.equal(get('crlf.txt'), 'new1\r\nnew2\r\n');
  });
  await t.test('an executable stays one', async () => {
    put('run.sh', 'echo a\n');
    chmodSync(join(dir, 'run.sh'), 0o755);
    await good(client, 'search_and_replace', edit('run.sh', ['echo a', 'echo b']));
    assert.equal(statSync(join(dir, 'run.sh')).mode & 0o777, 0o755);
  });
  await t.test('no change', () => good(client, 'search_and_replace', edit('run.sh', ['echo b', 'echo b']), 'No changes made'));
  await t.test('no edits', () => good(client, 'search_and_replace', { filepath: 'run.sh', edits: [] }, 'No changes made'));
  await t.test('empty old', () => bad(client, 'search_and_replace', edit('run.sh', ['', 'x']), "empty 'old' text"));
  await t.test('a missing key', () => bad(client, 'search_and_replace', { filepath: 'run.sh', edits: [{ old: 'echo' }] }, "must contain 'old' and 'new' keys"));
  await t.test('a missing file', () => bad(client, 'search_and_replace', edit('none.txt', ['a', 'b']), 'not found'));
  await t.test('edits as a string', async () => {
    await good(client, 'search_and_replace', { filepath: 'run.sh', edits: '[{"old":"echo b","new":"echo c"}]' });
    assert.equal(get('run.sh'), 'echo c\n');
  });
  await t.test('the diff is one that patch(1) applies', async () => {
    put('d.txt', 'a\nb\nc\nd\ne\nf\ng\nh\nlast without newline');
    const text = await good(client, 'search_and_replace', { ...edit('d.txt', ['b', 'B'], ['last without newline', 'LAST']), dry_run: true });
    put('d.patch', text.slice(text.indexOf('--- ')));
    await bash(client, 'patch -p1 -s <d.patch || patch -p1 <d.patch');
    assert.equal(get('d.txt'), 'a\nB\nc\nd\ne\nf\ng\nh\nLAST');
  });
});

test('run_bash', async (t) => {
  const dir = makeWorkspace(t);
  const client = await connect(t, dir);
  const run = (command, timeout) => good(client, 'run_bash', timeout ? { command, timeout } : { command });

  await t.test('a shell in the workspace', async () => assert.equal(await run('pwd'), '[Exit code: 0]\n/workspace\n'));
  await t.test('no output', async () => assert.equal(await run('true'), '[Exit code: 0]'));
  await t.test('an exit status is no error', async () => assert.equal(await run('exit 7'), '[Exit code: 7]'));
  await t.test('death by a signal', async () => contains(await run('kill -9 $$'), '[Exit code: -9]'));
  await t.test('output and errors in their order', async () => assert.equal(await run('echo a; echo b >&2; echo c'), '[Exit code: 0]\na\nb\nc\n'));
  await t.test('a missing file', async () => contains(await run('ls none'), /^\[Exit code: 2\]\n.*none.*No such file/));
  await t.test('nothing to read', async () => assert.equal(await run('cat; echo end'), '[Exit code: 0]\nend\n'));
  await t.test('a closed environment', async () => {
    const names = (await run('env')).split('\n').slice(1).map((line) => line.split('=')[0]).filter(Boolean).sort();
    assert.deepEqual(names, ['ASAN_OPTIONS', 'DEBIAN_FRONTEND', 'GIT_PAGER', 'GIT_TERMINAL_PROMPT', 'HOME', 'LANG', 'LOGNAME', 'PAGER', 'PATH', 'PWD', 'SHELL', 'TERM', 'USER', 'container']);
  });
  await t.test('no descriptor but the three', async () => assert.equal(await run('ls /proc/self/fd | tr "\\n" " "'), '[Exit code: 0]\n0 1 2 3 '));
  await t.test('its rights', async () => {
    const text = await run('cat /proc/self/status; ls -d /proc/[0-9]*');
    for (const line of ['CapPrm:\t0000000000000000', 'CapEff:\t0000000000000000', 'CapBnd:\t0000000000000000', 'NoNewPrivs:\t1', 'Seccomp:\t2']) contains(text, line);
    lacks(text, '/proc/1\n');
  });
  await t.test('timeout', async () => {
    const begin = Date.now();
    await bad(client, 'run_bash', { command: 'echo before; sleep 60', timeout: 1 }, 'timed out after 1s', 'before');
    assert.ok(Date.now() - begin < 10000);
  });
  await t.test('impossible timeouts', async () => {
    for (const timeout of [0, -1, 1e9]) await bad(client, 'run_bash', { command: 'true', timeout }, 'timeout');
  });
  await t.test('a NUL byte, an empty command, a long command', async () => {
    await bad(client, 'run_bash', { command: 'echo a\0b' });
    await bad(client, 'run_bash', { command: `: ${'x'.repeat(200000)}` }, 'bytes');
    await good(client, 'run_bash', { command: `: ${'x'.repeat(100000)}` });
  });
  await t.test('60,000 characters are cut', async () => {
    const text = await run('head -c 60000 /dev/zero | tr "\\0" x');
    contains(text, '[Exit code: 0]\nxxx');
    contains(text, 'output truncated at 39KB');
    assert.ok(text.length <= 40000 && text.length > 39000, `${text.length}`);
  });
  await t.test('output that is no UTF-8', async () => contains(await run('printf "a\\377\\0b\\303\\251"'), /^\[Exit code: 0\]\na\uFFFD.*b\u00e9$/s));
  await t.test('lines that look like ours stay inside', async () => {
    const text = await run(`echo '{"jsonrpc":"2.0","id":1,"result":{}}' | tee /dev/stderr`);
    assert.equal(text.split('jsonrpc').length, 3);
    assert.deepEqual(client.errors, []);
  });
  await t.test('each call begins anew', async () => {
    await run('cd /tmp; export X=1; echo kept >/tmp/file');
    assert.equal(await run('pwd; echo "$X"; cat /tmp/file'), '[Exit code: 0]\n/workspace\n\nkept\n');
  });
  await t.test('no network', async () => contains(await run('cat /proc/net/dev | tail -n +3 | cut -d: -f1'), /^\[Exit code: 0\]\n *lo\n$/));
  await t.test('metrics travel in _meta', async () => {
    const { result } = await client.call('run_bash', { command: 'exit 4' });
    assert.equal(result._meta['cloche/metrics'].exit_status, 4);
  });
});
