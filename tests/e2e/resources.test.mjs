// Resources through the official client: lists, templates, files and the policy; and no URI that reaches a file outside the workspace.
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bash, connect, makeWorkspace } from './lib.mjs';

async function only(client, uri) {
  const { contents } = await client.readResource({ uri });
  assert.equal(contents.length, 1);
  assert.equal(contents[0].uri, uri);
  return contents[0];
}

function refused(client, uri, code) {
  return assert.rejects(client.readResource({ uri }), (e) => {
    assert.ok(code ? e.code === code : [-32002, -32602].includes(e.code), `${uri}: ${e.code} ${e.message}`);
    assert.deepEqual(e.data, { uri });
    return true;
  });
}

test('resources', async (t) => {
  const dir = makeWorkspace(t);
  mkdirSync(join(dir, 'src'));
  writeFileSync(join(dir, 'src/größe #1.md'), 'text\n');
  writeFileSync(join(dir, 'pixel.png'), Buffer.from('89504e470d0a1a0a0000', 'hex'));
  const client = await connect(t, dir);

  await t.test('every listed one can be read', async () => {
    const { resources } = await client.listResources();
    assert.deepEqual(resources.map((r) => r.uri), ['skill://cloche/SKILL.md', 'cloche://policy', 'cloche://jobs']);
    for (const r of resources) {
      const content = await only(client, r.uri);
      assert.equal(content.mimeType, r.mimeType);
      if (r.size !== undefined)
        assert.equal(Buffer.byteLength(content.text), r.size);
    }
  });
  await t.test('templates', async () => {
    const { resourceTemplates } = await client.listResourceTemplates();
    assert.deepEqual(resourceTemplates.map((r) => r.uriTemplate), ['file:///workspace/{+path}', 'cloche://jobs/{id}/output']);
  });
  await t.test('the policy is that of this sandbox', async () => {
    const policy = JSON.parse((await only(client, 'cloche://policy')).text);
    assert.equal(policy.files.find((f) => f.path === '/workspace').access, 'write');
    assert.equal(policy.network.mode, 'none');
    const names = (await bash(client, 'env')).split('\n').slice(1).filter((l) => /^[A-Z_a-z]+=/.test(l)).map((l) => l.split('=')[0]);
    for (const name of names.filter((n) => !['PWD', 'OLDPWD', 'SHLVL', '_'].includes(n)))
      assert.ok(policy.environment.includes(name), `${name} is not in ${policy.environment}`);
    assert.ok(!JSON.stringify(policy).includes(dir));
  });
  await t.test('files', async () => {
    assert.equal((await only(client, 'file:///workspace/src/gr%C3%B6%C3%9Fe%20%231.md')).text, 'text\n');
    const picture = await only(client, 'file:///workspace/pixel.png');
    assert.deepEqual([picture.mimeType, Buffer.from(picture.blob, 'base64').toString('hex')], ['image/png', '89504e470d0a1a0a0000']);
    assert.equal((await only(client, 'file:///workspace/src')).text, 'größe #1.md\n');
    await bash(client, 'echo changed >src/new; mkfifo pipe');
    assert.equal((await only(client, 'file:///workspace/src/new')).text, 'changed\n');
    await refused(client, 'file:///workspace/nothing', -32002);
    await refused(client, 'file:///workspace/pipe', -32602);
  });
});

test('URIs out of the workspace', async (t) => {
  const dir = makeWorkspace(t);
  symlinkSync('/etc', join(dir, 'etc'));
  symlinkSync('/proc/self/root', join(dir, 'root'));
  symlinkSync('..', join(dir, 'up'));
  symlinkSync('/workspace/../etc/passwd', join(dir, 'devious'));
  const client = await connect(t, dir);
  const inside = ['../etc/passwd', '%2e%2e/etc/passwd', '%2E%2E%2Fetc%2Fpasswd', 'a/../../etc/passwd', '/etc/passwd', '%2Fetc%2Fpasswd',
    './../etc/passwd', 'etc/passwd', 'root/etc/passwd', 'up/etc/passwd', 'devious', 'x%00', '%', '..', '.'];
  const outside = ['file:///etc/passwd', 'file:///proc/self/fd/3', 'file:///proc/self/environ', 'file:///dev/stdin', 'file:///', 'file:////etc/passwd',
    'file://localhost/etc/passwd', 'file://elsewhere/workspace/x', 'file:etc/passwd', 'file:///workspace-evil/x', 'file:///workspace%2F..%2Fetc%2Fpasswd',
    '/etc/passwd', 'http://localhost/etc/passwd', 'cloche://jobs/../policy', 'cloche://jobs/x/../../policy', 'skill://cloche/../../etc/passwd'];
  for (const uri of [...inside.map((path) => `file:///workspace/${path}`), ...outside])
    await t.test(uri, () => refused(client, uri));
});
