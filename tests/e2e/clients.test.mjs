// Every official client can connect in every way it knows, meets the same tools, resources and prompts in each, is told of changes,
// can give up a call, and closes at once.
import assert from 'node:assert/strict';
import { writeFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as TransportV2 } from '@modelcontextprotocol/client/stdio';
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { TOOLS, allGone, connect, contains, makeWorkspace, processes, serverParameters, until } from './lib.mjs';

const HINTS = {
  read_file: [true, false, true],
  write_file: [false, true, null],
  list_directory: [true, false, true],
  search_workspace: [true, false, true],
  run_bash: [false, true, false],
  search_and_replace: [false, true, null],
};
const UPDATED = 'notifications/resources/updated';

// How each client connects, and what it then says of the connection.
const WAYS = [
  { name: 'SDK v1', v1: true, modern: false },
  { name: 'SDK v2, legacy', mode: 'legacy', modern: false },
  { name: 'SDK v2, auto', mode: 'auto', modern: true },
  { name: 'SDK v2, pinned', mode: { pin: '2026-07-28' }, modern: true },
];

async function connectV2(t, dir, mode) {
  const { mark, ...parameters } = serverParameters(dir);
  const client = new ClientV2({ name: 'cloche-e2e', version: '1' }, { versionNegotiation: { mode } });
  client.mark = mark;
  client.errors = [];
  client.onerror = (error) => client.errors.push(error);
  t.after(() => client.close());
  await client.connect(new TransportV2(parameters));
  return client;
}

async function connectBy(t, way, dir) {
  const client = way.v1 ? await connect(t, dir) : await connectV2(t, dir, way.mode);
  client.updates = [];
  const note = (notification) => { client.updates.push(notification.params.uri); };
  if (way.v1) client.setNotificationHandler(ResourceUpdatedNotificationSchema, note);
  else client.setNotificationHandler(UPDATED, note);
  client.tool = (name, args, options) => (way.v1
    ? client.callTool({ name, arguments: args }, undefined, { timeout: 60000, ...options })
    : client.callTool({ name, arguments: args }, { timeout: 60000, ...options }));
  return client;
}

function checkTools(tools) {
  assert.deepEqual(tools.map((tool) => tool.name).sort(), [...TOOLS].sort(), 'exactly six tools');
  for (const tool of tools) {
    const [readOnly, destructive, idempotent] = HINTS[tool.name];
    assert.equal(tool.annotations.readOnlyHint, readOnly, `${tool.name} readOnlyHint`);
    assert.equal(tool.annotations.destructiveHint, destructive, `${tool.name} destructiveHint`);
    if (idempotent === null) assert.equal(typeof tool.annotations.idempotentHint, 'boolean');
    else assert.equal(tool.annotations.idempotentHint, idempotent, `${tool.name} idempotentHint`);
    assert.equal(typeof tool.annotations.openWorldHint, 'boolean', `${tool.name} openWorldHint`);
    assert.ok(tool.title && tool.annotations.title, `${tool.name} title`);
    assert.ok(tool.description.length > 80, `${tool.name} description`);
    assert.equal(tool.inputSchema.type, 'object');
    assert.equal(tool.inputSchema.additionalProperties, false);
    assert.equal(tool.outputSchema, undefined, 'one text block is the whole answer');
    for (const [name, property] of Object.entries(tool.inputSchema.properties))
      assert.ok(property.description, `${tool.name}.${name} has a description`);
  }
  assert.ok(JSON.stringify(tools).length < 12000, 'the list is short enough for a context window');
}

function checkIntroduction(client, way) {
  assert.equal(client.getServerVersion().name, 'cloche');
  contains(client.getInstructions(), '/workspace');
  assert.ok(Buffer.byteLength(client.getInstructions()) <= 2048, 'instructions are cut at 2 KB by some');
  const capabilities = client.getServerCapabilities();
  for (const name of ['tools', 'resources', 'prompts', 'completions']) assert.ok(capabilities[name], `${name} is declared`);
  if (!way.v1) {
    assert.equal(client.getNegotiatedProtocolVersion(), way.modern ? '2026-07-28' : '2025-11-25');
    assert.equal(client.getProtocolEra(), way.modern ? 'modern' : 'legacy');
  }
}

async function checkCalls(client) {
  const write = await client.tool('write_file', { filepath: 'a.txt', content: 'one\ntwo\n' });
  assert.ok(!write.isError, write.content[0].text);
  const read = await client.tool('read_file', { filepath: 'a.txt' });
  assert.equal(read.content[0].text.split('\n')[0], 'one');
  const run = await client.tool('run_bash', { command: 'wc -l <a.txt; exit 3' });
  assert.equal(run.content[0].text, '[Exit code: 3]\n2\n');
  const missing = await client.tool('read_file', { filepath: 'none' });
  assert.equal(missing.isError, true);
  await assert.rejects(client.tool('no_such_tool', {}).then((result) => {
    if (result.isError) throw new Error(result.content[0].text);
  }), /no_such_tool/);
}

async function checkResources(client, way) {
  const { resources } = await client.listResources();
  assert.ok(resources.some((resource) => resource.uri === 'cloche://policy'));
  for (const { uri } of resources) {
    const { contents } = await client.readResource({ uri });
    assert.equal(contents[0].uri, uri);
    assert.ok(contents[0].text.length > 0, `${uri} is empty`);
  }
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.ok(resourceTemplates.some((template) => template.uriTemplate === 'file:///workspace/{+path}'));
  const { contents } = await client.readResource({ uri: 'file:///workspace/a.txt' });
  assert.equal(contents[0].text, 'one\ntwo\n');
  // SDK v2 calls the older code of the two eras by the newer one.
  await assert.rejects(client.readResource({ uri: 'file:///workspace/none' }), { code: way.v1 ? -32002 : -32602 });
}

async function checkPrompts(client) {
  const { prompts } = await client.listPrompts();
  assert.ok(prompts.some((prompt) => prompt.name === 'cloche'));
  for (const { name, arguments: all = [] } of prompts) {
    const { messages } = await client.getPrompt({ name, arguments: Object.fromEntries(all.filter((a) => a.required).map((a) => [a.name, 'x'])) });
    assert.ok(messages[0].content.text.length > 0, `${name} is empty`);
  }
  await assert.rejects(client.getPrompt({ name: 'no-such-prompt' }), (error) => error.code === -32602);
  const { completion } = await client.complete({
    ref: { type: 'ref/resource', uri: 'file:///workspace/{+path}' }, argument: { name: 'path', value: 'a.' },
  });
  assert.deepEqual(completion.values, ['a.txt']);
}

// One file that is watched changes three times: written, replaced and removed; another one says nothing.
async function checkUpdates(client, way, dir) {
  const uri = 'file:///workspace/watched.txt';
  const file = join(dir, 'watched.txt');
  writeFileSync(file, '1');
  const stream = way.modern ? await client.listen({ resourceSubscriptions: [uri] }) : undefined;
  if (stream) assert.deepEqual(stream.honoredFilter, { resourceSubscriptions: [uri] });
  else await client.subscribeResource({ uri });
  for (const change of [() => writeFileSync(file, '2'), () => rmSync(file), () => writeFileSync(file, '3')]) {
    const before = client.updates.length;
    writeFileSync(join(dir, 'other.txt'), 'x');
    change();
    await until(() => client.updates.length > before, 'a notification');
  }
  assert.deepEqual([...new Set(client.updates)], [uri]);
  if (stream) await stream.close();
  else await client.unsubscribeResource({ uri });
  await client.listTools(); // whatever was on its way has arrived
  const before = client.updates.length;
  writeFileSync(file, '4');
  await client.tool('run_bash', { command: 'sleep 0.5' });
  assert.equal(client.updates.length, before, 'no notification after the end');
}

async function checkGivingUp(client) {
  const controller = new AbortController();
  const word = `${client.mark}7`;
  const call = client.tool('run_bash', { command: `sleep ${word}` }, { signal: controller.signal });
  const ended = assert.rejects(call);
  await until(() => processes(word).length > 0, 'the start of the command');
  controller.abort();
  await ended;
  await until(() => processes(word).length === 0, 'the end of the command');
  assert.equal((await client.tool('run_bash', { command: 'echo on' })).content[0].text, '[Exit code: 0]\non\n');
}

async function checkClose(client) {
  const begin = Date.now();
  await client.close();
  // The SDKs wait two seconds before they send signals: an answer below that is the server's own.
  assert.ok(Date.now() - begin < 1900, `close() took ${Date.now() - begin} ms`);
  await allGone(client.mark);
}

for (const way of WAYS) {
  test(way.name, async (t) => {
    const dir = makeWorkspace(t);
    const client = await connectBy(t, way, dir);
    await t.test('introduction', () => checkIntroduction(client, way));
    await t.test('tools/list', async () => {
      const { tools } = await client.listTools();
      checkTools(tools);
      assert.deepEqual((await client.listTools()).tools, tools, 'the list is the same each time');
    });
    await t.test('tools/call', () => checkCalls(client));
    await t.test('resources', () => checkResources(client, way));
    await t.test('prompts and completion', () => checkPrompts(client));
    await t.test('changes of a resource', () => checkUpdates(client, way, dir));
    await t.test('a call that is given up', () => checkGivingUp(client));
    if (!way.modern) await t.test('ping and the level of messages', async () => {
      assert.deepEqual(await client.ping(), {});
      assert.deepEqual(await client.setLoggingLevel('warning'), {});
    });
    await t.test('nothing on the stream that the client did not understand', () => assert.deepEqual(client.errors, []));
    await t.test('close', () => checkClose(client));
  });
}
