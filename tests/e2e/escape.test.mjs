// No file tool reaches a file outside the workspace, whatever the path or the links on it.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync, linkSync } from 'node:fs';
import { join, basename } from 'node:path';
import { test } from 'node:test';
import { bad, bash, connect, contains, good, makeWorkspace, sleep } from './lib.mjs';

const OUTSIDE = 'outside the workspace boundary';

test('paths out of the workspace', async (t) => {
  const dir = makeWorkspace(t);
  const sibling = `${dir}-evil`; // the same prefix as the workspace
  mkdirSync(sibling);
  t.after(() => rmSync(sibling, { recursive: true, force: true }));
  const secret = join(sibling, 'secret.txt');
  writeFileSync(secret, 'secret\n');
  mkdirSync(join(dir, 'in/deep'), { recursive: true });
  writeFileSync(join(dir, 'in/real.txt'), 'real\n');
  symlinkSync('real.txt', join(dir, 'in/link.txt'));
  symlinkSync(secret, join(dir, 'absolute'));
  symlinkSync(`../${basename(sibling)}/secret.txt`, join(dir, 'relative'));
  symlinkSync('..', join(dir, 'up'));
  symlinkSync('/etc', join(dir, 'etc'));
  symlinkSync('/proc/self/root', join(dir, 'root'));
  symlinkSync('/', join(dir, 'in/slash'));
  symlinkSync('loop', join(dir, 'loop'));
  const client = await connect(t, dir);

  const paths = ['../etc/passwd', '../../etc/passwd', '/etc/passwd', '/etc/../etc/passwd', '//etc/passwd', '/tmp/x', '/home/agent/x', '/workspace/../etc/passwd',
    'in/../../etc/passwd', 'in/deep/../../../etc/passwd', '/workspace-evil/x', '/workspace2', '/proc/self/root/etc/passwd',
    '/proc/self/cwd/../etc/passwd', '/proc/1/root/etc/passwd', '/dev/fd/3', '/proc/self/fd/3', '/dev/stdin', '/dev/null',
    'absolute', 'relative', 'up/etc/passwd', 'etc/passwd', 'root/etc/passwd', 'in/slash/etc/passwd', 'in/slash/workspace/../etc/passwd', '..', '/'];
  for (const filepath of paths) {
    await t.test(filepath, async () => {
      await bad(client, 'read_file', { filepath }, OUTSIDE);
      await bad(client, 'write_file', { filepath, content: 'x', create_only: false }, OUTSIDE);
      await bad(client, 'search_and_replace', { filepath, edits: [{ old: 'root', new: 'x' }] }, OUTSIDE);
      await bad(client, 'list_directory', { path: filepath }, OUTSIDE);
    });
  }
  await t.test('a loop of links', () => bad(client, 'read_file', { filepath: 'loop' }));
  await t.test('the home is not expanded', () => bad(client, 'read_file', { filepath: '~/x' }, 'not found'));
  await t.test('ways that stay inside work', async () => {
    for (const filepath of ['in/real.txt', './in//real.txt', 'in/./deep/../real.txt', '/workspace/in/real.txt', 'in/link.txt'])
      assert.equal(await good(client, 'read_file', { filepath }), 'real');
    await good(client, 'search_and_replace', { filepath: 'in/link.txt', edits: [{ old: 'real', new: 'changed' }] });
    assert.equal(readFileSync(join(dir, 'in/real.txt'), 'utf8'), 'changed\n');
  });
  await t.test('search does not follow links out', async () => {
    const text = await good(client, 'search_workspace', { pattern: '**/passwd' });
    contains(text, 'No files found');
  });
  await t.test('a link planted by a command is not written through', async () => {
    await bash(client, `ln -s ${secret} planted; ln -s ${sibling} folder; ln -s /tmp/made inner`);
    for (const filepath of ['planted', 'folder/new', 'inner'])
      await bad(client, 'write_file', { filepath, content: 'x', create_only: false });
  });
  await t.test('a predictable temporary name is no trap', async () => {
    await bash(client, `ln -s ${secret} a.txt.tmp; ln -s ${secret} .a.txt.tmp; echo old >a.txt`);
    await good(client, 'write_file', { filepath: 'a.txt', content: 'new', create_only: false });
    assert.equal(readFileSync(join(dir, 'a.txt'), 'utf8'), 'new');
  });
  assert.equal(readFileSync(secret, 'utf8'), 'secret\n');
  assert.deepEqual(readdirSync(sibling), ['secret.txt']);
});

test('a link that changes while tools write through it', async (t) => {
  const dir = makeWorkspace(t);
  const client = await connect(t, dir);
  await bash(client, 'mkdir d /tmp/target; ln -s /tmp/target link; echo secret >/tmp/target/f');
  // renameat2(2) exchanges a folder and a link to outside as fast as it can, while the file tools use the name.
  const swap = client.call('run_bash', { command: `python3 - <<'END'
import ctypes, time
libc = ctypes.CDLL(None)
end = time.time() + 3
while time.time() < end:
    assert libc.renameat2(-100, b"d", -100, b"link", 2) == 0
END
ls -A /tmp/target; cat /tmp/target/f`, timeout: 60 });
  await sleep(200);
  let written = 0, refused = 0;
  const end = Date.now() + 2000;
  while (Date.now() < end) {
    const { isError } = await client.call('write_file', { filepath: 'd/f', content: 'changed', create_only: false });
    if (isError) refused += 1; else written += 1;
    const read = await client.call('read_file', { filepath: 'd/f' });
    assert.ok(!read.text.includes('secret'));
  }
  const { text } = await swap;
  assert.equal(text, '[Exit code: 0]\nf\nsecret\n');
  assert.ok(written > 0 && refused > 0, `both happened: ${written} written, ${refused} refused`);
});

test('hard links made by the user beforehand are the user\'s files', async (t) => {
  const dir = makeWorkspace(t);
  writeFileSync(join(dir, 'a'), 'one\n');
  linkSync(join(dir, 'a'), join(dir, 'b'));
  const client = await connect(t, dir);
  await good(client, 'search_and_replace', { filepath: 'a', edits: [{ old: 'one', new: 'two' }] }, 'hard link');
  assert.ok(existsSync(join(dir, 'b')));
});
