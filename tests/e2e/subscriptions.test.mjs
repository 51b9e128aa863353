// Subscriptions in a real sandbox: that the server's filter and Landlock let it watch, that it watches nothing outside, and that it
// can do without the kernel's help.
import assert from 'node:assert/strict';
import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as TransportV2 } from '@modelcontextprotocol/client/stdio';
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { bash, connect, good, makeWorkspace, serverParameters, until } from './lib.mjs';

const FILES = 'file:///workspace/';
const POLL_MS = 2000; // how often the server looks at what the kernel does not watch

// A handshake client that counts what it is told of each URI.
async function subscriber(t, dir) {
  const client = await connect(t, dir);
  client.told = new Map();
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
    client.told.set(params.uri, (client.told.get(params.uri) ?? 0) + 1);
  });
  client.subscribe = (name) => client.subscribeResource({ uri: FILES + name });
  client.times = (name) => client.told.get(FILES + name) ?? 0;
  // Does something and waits until it was told of @name.
  client.hears = async (name, what, milliseconds = 15000) => {
    const before = client.times(name);
    await what();
    await until(() => client.times(name) > before, `a notification about ${name}`, milliseconds);
  };
  return client;
}

test('whoever changes a file, its subscriber is told', async (t) => {
  const dir = makeWorkspace(t);
  const client = await subscriber(t, dir);
  assert.equal(client.getServerCapabilities().resources.subscribe, true);
  await client.subscribe('src/main.c');
  await client.hears('src/main.c', () => {
    mkdirSync(join(dir, 'src'));
    writeFileSync(join(dir, 'src/main.c'), 'one\n');
  });
  await client.hears('src/main.c', () => bash(client, 'echo two >>src/main.c'));
  await client.hears('src/main.c', () => good(client, 'write_file', { filepath: 'src/main.c', content: 'three\n', create_only: false }));
  await client.hears('src/main.c', () => {
    writeFileSync(join(dir, 'other'), 'four\n');
    renameSync(join(dir, 'other'), join(dir, 'src/main.c'));
  });
  await client.hears('src/main.c', () => renameSync(join(dir, 'src'), join(dir, 'lib')));
});

// Were files looked at from time to time only, each of these would take POLL_MS.
test('the kernel tells of changes, also through the filter and Landlock', async (t) => {
  const dir = makeWorkspace(t), changes = 8;
  const client = await subscriber(t, dir);
  await client.subscribe('file');
  const start = Date.now();
  for (let i = 0; i < changes; i += 1) await client.hears('file', () => appendFileSync(join(dir, 'file'), 'x'));
  const took = Date.now() - start;
  assert.ok(took < changes * POLL_MS / 2, `${changes} changes took ${took} ms`);
});

test('nothing outside the workspace is watched', async (t) => {
  const dir = makeWorkspace(t);
  const client = await subscriber(t, dir);
  await bash(client, 'ln -s /etc/passwd etc; ln -s /tmp tmp; ln -s ../tmp/f up');
  for (const name of ['etc', 'tmp', 'tmp/f', 'up', 'marker']) await client.subscribe(name);
  for (const uri of ['file:///etc/passwd', 'file:///tmp/f', 'file:///workspace/../tmp/f', 'file://host/workspace/f']) {
    await assert.rejects(client.subscribeResource({ uri }), (error) => [-32002, -32602].includes(error.code), uri);
  }
  // A command's /tmp is its own; the host's is what the links must not lead to either.
  await bash(client, 'echo x >/tmp/f; echo y >>/tmp/f');
  await client.hears('marker', () => writeFileSync(join(dir, 'marker'), 'x'));
  assert.deepEqual([...client.told.keys()], [`${FILES}marker`]);
});

test('a command that takes all instances of inotify does not keep subscribers from hearing', async (t) => {
  const dir = makeWorkspace(t);
  const client = await subscriber(t, dir);
  const hoard = 'import ctypes, time\nl = ctypes.CDLL(None, use_errno=True)\nn = 0\nwhile n < 5000 and l.inotify_init() >= 0: n += 1\n'
    + 'open("full", "w").write("%d %d" % (n, ctypes.get_errno()))\ntime.sleep(60)\n';
  writeFileSync(join(dir, 'hoard.py'), hoard);
  const abort = new AbortController();
  const hoarder = client.call('run_bash', { command: 'python3 hoard.py' }, { signal: abort.signal }).catch(() => {});
  await until(() => existsSync(join(dir, 'full')) && readFileSync(join(dir, 'full'), 'utf8') !== '', 'a full table', 15000);
  const [instances, errno] = readFileSync(join(dir, 'full'), 'utf8').split(' ').map(Number);
  assert.ok(instances > 0 && errno === 24, `${instances} instances, then errno ${errno}`); // EMFILE
  await client.subscribe('file');
  await client.hears('file', () => writeFileSync(join(dir, 'file'), 'x'));
  await client.hears('file', () => appendFileSync(join(dir, 'file'), 'x'));
  abort.abort();
  await hoarder;
});

test('streams of 2026-07-28 end with the server', async (t) => {
  const dir = makeWorkspace(t);
  const { mark, ...parameters } = serverParameters(dir);
  const client = new ClientV2({ name: 'cloche-e2e', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  const transport = new TransportV2(parameters), told = [];
  t.after(() => client.close());
  client.setNotificationHandler('notifications/resources/updated', (notification) => { told.push(notification.params.uri); });
  await client.connect(transport);
  const uris = [`${FILES}a`, `${FILES}b`];
  const first = await client.listen({ resourceSubscriptions: uris, toolsListChanged: true });
  assert.deepEqual(first.honoredFilter, { resourceSubscriptions: uris });
  const second = await client.listen({ resourceSubscriptions: [uris[0], 'test://nothing'] });
  assert.deepEqual(second.honoredFilter, { resourceSubscriptions: [uris[0]] });
  writeFileSync(join(dir, 'a'), 'x');
  await until(() => told.length >= 2, 'one notification on each stream');
  await second.close();
  assert.equal(await second.closed, 'local');
  const before = told.length;
  writeFileSync(join(dir, 'a'), 'y');
  await until(() => told.length > before, 'a notification on the first');
  writeFileSync(join(dir, 'b'), 'x');
  await until(() => told.includes(uris[1]), 'a notification about the other file');
  process.kill(transport.pid, 'SIGTERM');
  assert.equal(await first.closed, 'graceful');
});
