// Every official client can connect in every way it knows, sees the six tools, calls them, and closes at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as TransportV2 } from '@modelcontextprotocol/client/stdio';
import { TOOLS, allGone, connect, contains, makeWorkspace, serverParameters } from './lib.mjs';

const HINTS = {
  read_file: [true, false, true],
  write_file: [false, true, null],
  list_directory: [true, false, true],
  search_workspace: [true, false, true],
  run_bash: [false, true, false],
  search_and_replace: [false, true, null],
};

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

async function closesAtOnce(client, mark) {
  const begin = Date.now();
  await client.close();
  // The SDKs wait two seconds before they send signals: an answer below that is the server's own.
  assert.ok(Date.now() - begin < 1900, `close() took ${Date.now() - begin} ms`);
  await allGone(mark);
}

test('SDK v1', async (t) => {
  const client = await connect(t, makeWorkspace(t));
  const { tools } = await client.listTools();
  checkTools(tools);
  assert.equal(client.getServerVersion().name, 'cloche');
  contains(client.getInstructions(), 'workspace');
  assert.ok(client.getServerCapabilities().tools, 'tools are declared');
  assert.deepEqual(await client.ping(), {});
  contains((await client.call('run_bash', { command: 'echo hi' })).text, '[Exit code: 0]\nhi');
  await assert.rejects(client.callTool({ name: 'no_such_tool', arguments: {} }).then((result) => {
    if (result.isError) throw new Error(result.content[0].text);
  }), /no_such_tool/);
  assert.deepEqual((await client.listTools()).tools, tools, 'the list is the same each time');
  assert.deepEqual(client.errors, [], 'nothing on the stream that the client did not understand');
  await closesAtOnce(client, client.mark);
});

for (const mode of ['legacy', 'auto', { pin: '2026-07-28' }]) {
  test(`SDK v2, ${JSON.stringify(mode)}`, async (t) => {
    const { mark, ...parameters } = serverParameters(makeWorkspace(t));
    const client = new ClientV2({ name: 'cloche-e2e', version: '1' }, { versionNegotiation: { mode } });
    const errors = [];
    client.onerror = (error) => errors.push(error);
    t.after(() => client.close());
    await client.connect(new TransportV2(parameters));
    checkTools((await client.listTools()).tools);
    const write = await client.callTool({ name: 'write_file', arguments: { filepath: 'a.txt', content: 'one\ntwo\n' } });
    assert.ok(!write.isError, write.content[0].text);
    const read = await client.callTool({ name: 'read_file', arguments: { filepath: 'a.txt' } });
    assert.equal(read.content[0].text.split('\n')[0], 'one');
    const run = await client.callTool({ name: 'run_bash', arguments: { command: 'wc -l <a.txt; exit 3' } });
    assert.equal(run.content[0].text, '[Exit code: 3]\n2\n');
    const missing = await client.callTool({ name: 'read_file', arguments: { filepath: 'none' } });
    assert.equal(missing.isError, true);
    assert.deepEqual(errors, []);
    await closesAtOnce(client, mark);
  });
}
