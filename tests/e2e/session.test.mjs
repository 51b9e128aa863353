// The life of a session: raw pipes, settings, signals, two on one workspace, and what is left afterwards.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CLOCHE, allGone, bad, bash, connect, contains, good, initialize, makeWorkspace, newMark, processes, raw, residentKib, sleep, until } from './lib.mjs';

test('one line into a pipe: the answer is the first line of the output', async (t) => {
  const dir = makeWorkspace(t);
  const line = JSON.stringify({ jsonrpc: '2.0', ...initialize(1) });
  const out = execFileSync('sh', ['-c', 'printf "%s\\n" "$1" | "$2" mcp "$3"', 'sh', line, CLOCHE, dir], { encoding: 'utf8', timeout: 10000 });
  assert.equal(out.split('\n').length, 2, 'one line');
  const answer = JSON.parse(out);
  assert.equal(answer.id, 1);
  assert.equal(answer.result.protocolVersion, '2025-11-25');
  assert.deepEqual(readdirSync(dir), [], 'a start leaves nothing in the workspace');
});

test('revisions', async (t) => {
  const dir = makeWorkspace(t);
  for (const version of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']) {
    await t.test(version, async (t) => {
      const server = raw(t, ['mcp', dir]);
      server.send(initialize('a', version));
      assert.equal((await server.answer('a')).result.protocolVersion, version);
      server.child.stdin.end();
      assert.deepEqual(await server.ended, { code: 0, signal: null });
    });
  }
  for (const version of ['1999-01-01', '2024-10-07', 'x']) {
    await t.test(`${version}, which does not exist, gets the newest`, async (t) => {
      const server = raw(t, ['mcp', dir]);
      server.send(initialize(7, version));
      assert.equal((await server.answer(7)).result.protocolVersion, '2025-11-25');
      server.child.stdin.end();
      await server.ended;
    });
  }
});

test('a client that sends garbage', async (t) => {
  const server = raw(t, ['mcp', makeWorkspace(t)]);
  server.send({ id: 0, method: 'ping' });
  assert.deepEqual((await server.answer(0)).result, {}, 'ping before initialize');
  server.send(initialize(1), { method: 'notifications/initialized' });
  await server.answer(1);
  server.child.stdin.write('{"jsonrpc":"2.0","id":2,\n\n\r\nnot json\n[1,2\n"text"\n\u0000\n');
  server.child.stdin.write(Buffer.from([0xff, 0xfe, 0x0a]));
  server.child.stdin.write(`${'['.repeat(200000)}\n`);
  server.send({ id: 3, method: 'no/such/method' }, { id: 4, method: 'tools/call', params: { name: 5 } }, { id: 5, method: 'tools/call' },
    { id: 6, method: 'notifications/initialized' }, { method: 'notifications/unknown' }, { id: 7, method: 'tools/list' });
  assert.equal((await server.answer(7)).result.tools.length, 6, 'the session goes on');
  assert.equal((await server.answer(3)).error.code, -32601);
  assert.equal((await server.answer(4)).error.code, -32602);
  assert.equal((await server.answer(5)).error.code, -32602);
  const codes = server.lines.map((line) => JSON.parse(line)).filter((m) => m.error && m.id === undefined || m.id === null).map((m) => m.error.code);
  assert.ok(codes.includes(-32700), 'parse errors are answered');
  server.child.stdin.end();
  assert.deepEqual(await server.ended, { code: 0, signal: null });
});

test('settings by environment variables', async (t) => {
  const dir = makeWorkspace(t);
  writeFileSync(join(dir, 'six'), '123456');
  const client = await connect(t, dir, { env: { COMMAND_TIMEOUT: '1', MAX_READ_SIZE_BYTES: '5', MAX_WRITE_SIZE_BYTES: '5', MAX_SEARCH_RESULTS: '2' } });
  await bad(client, 'run_bash', { command: 'sleep 30' }, 'timed out after 1s');
  await good(client, 'run_bash', { command: 'sleep 2; echo done', timeout: 20 }, 'done');
  await bad(client, 'read_file', { filepath: 'six' }, 'exceeds MAX_READ_SIZE_BYTES');
  await bad(client, 'write_file', { filepath: 'new', content: '123456' }, 'exceeds MAX_WRITE_SIZE_BYTES');
  await good(client, 'write_file', { filepath: 'new', content: '12345' }, 'Successfully wrote 5 bytes');
  await bash(client, 'touch a.x b.x c.x');
  await good(client, 'search_workspace', { pattern: '*.x' }, 'Found 2 matches', 'truncated');
});

test('options of the sandbox', async (t) => {
  const dir = makeWorkspace(t);
  const data = makeWorkspace(t);
  writeFileSync(join(data, 'file'), 'data\n');
  const options = ['--hostname', 'box', '-e', 'GREETING=hello', '-v', `${data}:/data:ro`, '--tmpfs', '/scratch:size=1m', '--pids-limit', '100', '--cpus', '1'];
  const client = await connect(t, dir, { options, env: { SECRET: 'not-for-inside' } });
  assert.equal(await bash(client, 'hostname; echo $GREETING; cat /data/file; nproc; ulimit -n'), 'box\nhello\ndata\n1\n4096\n');
  await good(client, 'run_bash', { command: 'echo x >/data/file' }, 'Read-only file system');
  await good(client, 'run_bash', { command: 'head -c 2M /dev/zero >/scratch/x' }, 'No space left');
  await good(client, 'run_bash', { command: 'cat /proc/*/environ | tr "\\0" "\\n" | grep -c not-for-inside' }, '[Exit code: 1]\n0');
});

test('a read-only workspace', async (t) => {
  const dir = makeWorkspace(t);
  writeFileSync(join(dir, 'a.txt'), 'a\n');
  const mark = newMark();
  const server = raw(t, ['mcp', '--ulimit', `locks=${mark}`, '-v', `${dir}:/workspace:ro`]);
  server.send(initialize(1), { method: 'notifications/initialized' });
  const call = async (id, name, args) => {
    server.send({ id, method: 'tools/call', params: { name, arguments: args } });
    return (await server.answer(id)).result;
  };
  assert.equal((await call(2, 'read_file', { filepath: 'a.txt' })).content[0].text, 'a');
  const write = await call(3, 'write_file', { filepath: 'b.txt', content: 'b' });
  assert.equal(write.isError, true);
  contains(write.content[0].text, /[Rr]ead-only/);
  assert.equal((await call(4, 'search_and_replace', { filepath: 'a.txt', edits: [{ old: 'a', new: 'b' }] })).isError, true);
  server.child.stdin.end();
  await server.ended;
  assert.deepEqual(readdirSync(dir), ['a.txt']);
});

test('two sessions on one workspace', async (t) => {
  const dir = makeWorkspace(t);
  const [one, two] = await Promise.all([connect(t, dir), connect(t, dir)]);
  await good(one, 'write_file', { filepath: 'shared.txt', content: 'from one\n' });
  assert.equal(await good(two, 'read_file', { filepath: 'shared.txt' }), 'from one');
  await bash(one, 'echo private >/tmp/note; echo private >/dev/shm/note');
  assert.equal(await bash(two, 'ls -A /tmp /dev/shm'), '/dev/shm:\n\n/tmp:\n');
  const racing = await Promise.all([one, two].map((c) => c.call('write_file', { filepath: 'raced', content: 'x' })));
  assert.equal(racing.filter((r) => !r.isError).length, 1, 'exactly one of two creators wins');
  await one.close();
  await allGone(one.mark);
  assert.equal(await bash(two, 'echo alive'), 'alive\n');
});

test('closing', async (t) => {
  await t.test('while idle', async (t) => {
    const client = await connect(t, makeWorkspace(t));
    const begin = Date.now();
    await client.close();
    assert.ok(Date.now() - begin < 1900);
    await allGone(client.mark);
  });
  await t.test('while commands run', async (t) => {
    const client = await connect(t, makeWorkspace(t));
    const mark = newMark();
    const calls = [1, 2, 3].map(() => client.call('run_bash', { command: `setsid sleep ${mark} & sleep ${mark}` }).catch(() => 'closed'));
    await until(() => processes(mark).length >= 9, 'the start of the commands');
    const begin = Date.now();
    await client.close();
    assert.ok(Date.now() - begin < 1900, 'the end of input ends the commands');
    assert.deepEqual(await Promise.all(calls), ['closed', 'closed', 'closed']);
    await allGone(mark);
    await allGone(client.mark);
  });
});

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
  test(`${signal} while a command runs`, async (t) => {
    const mark = newMark();
    const server = raw(t, ['mcp', '--ulimit', `locks=${mark}`, makeWorkspace(t)]);
    server.send(initialize(1), { id: 2, method: 'tools/call', params: { name: 'run_bash', arguments: { command: `sleep ${mark}` } } });
    await until(() => processes(`sleep\0${mark}`).length > 0, 'the start of the command');
    const begin = Date.now();
    server.child.kill(signal);
    await server.ended;
    assert.ok(Date.now() - begin < 3000, `it took ${Date.now() - begin} ms`);
    await allGone(mark);
    for (const line of server.lines) JSON.parse(line);
  });
}

test('a client that does not read', async (t) => {
  const mark = newMark();
  const server = raw(t, ['mcp', '--ulimit', `locks=${mark}`, makeWorkspace(t)]);
  server.child.stdout.pause();
  server.send(initialize(1));
  for (let id = 2; id < 300; id += 1) server.send({ id, method: 'tools/call', params: { name: 'run_bash', arguments: { command: 'head -c 40000 /dev/zero | tr "\\0" x' } } });
  await sleep(2000);
  for (const line of processes(mark)) {
    const kib = residentKib(line);
    assert.ok(kib < 128 * 1024, `${line}: ${kib} kB`);
  }
  server.child.stdout.resume();
  server.child.stdin.end();
  await server.ended;
  await allGone(mark);
});

test('logs go to standard error, and secrets not', async (t) => {
  const client = await connect(t, makeWorkspace(t), { options: ['--log-level', 'debug'] });
  await good(client, 'write_file', { filepath: 'a.txt', content: 'the-content-of-the-file\n' });
  await bash(client, 'true');
  await until(() => client.log.length > 0, 'a line on standard error');
  assert.doesNotMatch(client.log, /the-content-of-the-file/);
});
