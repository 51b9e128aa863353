// The MCP Inspector's command line, in both eras, with its lint of the tools' schemas.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { CLOCHE, TOOLS, makeWorkspace } from './lib.mjs';

const [major, minor] = process.versions.node.split('.').map(Number);
const program = fileURLToPath(import.meta.resolve('@modelcontextprotocol/inspector/package.json')).replace('package.json', 'clients/launcher/build/index.js');
const skip = (major > 22 || (major === 22 && minor >= 19)) ? false : `the Inspector needs Node 22.19, this is ${process.versions.node}`;
const ERAS = ['legacy', 'modern', 'auto'];

function run(t, words) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, '--cli', '-q', ...words, '--format', 'json'], {
    encoding: 'utf8',
    timeout: 60000,
    env: { PATH: process.env.PATH, HOME: makeWorkspace(t), MCP_INSPECTOR_SECRET_STORE: 'memory' },
  });
  return { status, stdout, stderr };
}

function inspect(t, options, ...request) {
  return run(t, [...options, CLOCHE, 'mcp', makeWorkspace(t), '--method', ...request]);
}

// The result of a request that must work.
function result(outcome) {
  assert.equal(outcome.status, 0, `${outcome.stdout}${outcome.stderr}`);
  const answer = JSON.parse(outcome.stdout);
  return answer.result ?? answer;
}

for (const era of ERAS) {
  const options = ['--protocol-era', era];
  test(`tools/list, ${era}`, { skip }, (t) => {
    assert.deepEqual(result(inspect(t, options, 'tools/list')).tools.map((tool) => tool.name).sort(), [...TOOLS].sort());
  });
  test(`tools/call, ${era}`, { skip }, (t) => {
    const { content } = result(inspect(t, options, 'tools/call', '--tool-name', 'run_bash', '--tool-args-json', '{"command":"echo from $((40 + 2))"}'));
    assert.equal(content[0].text, '[Exit code: 0]\nfrom 42\n');
  });
  test(`the schemas are portable (--strict), ${era}`, { skip }, (t) => {
    result(inspect(t, [...options, '--strict'], 'tools/list'));
  });
  test(`resources, ${era}`, { skip }, (t) => {
    const { resources } = result(inspect(t, options, 'resources/list'));
    assert.ok(resources.some((resource) => resource.uri === 'skill://cloche/SKILL.md'));
    const { contents } = result(inspect(t, options, 'resources/read', '--uri', 'skill://cloche/SKILL.md'));
    assert.match(contents[0].text, /^---\nname: cloche\n/);
    assert.ok(result(inspect(t, options, 'resources/templates/list')).resourceTemplates.length > 0);
  });
  test(`prompts, ${era}`, { skip }, (t) => {
    assert.ok(result(inspect(t, options, 'prompts/list')).prompts.some((prompt) => prompt.name === 'cloche'));
    assert.ok(result(inspect(t, options, 'prompts/get', '--prompt-name', 'cloche')).messages[0].content.text.length > 0);
  });
}
test('introduction', { skip }, (t) => {
  assert.equal(result(inspect(t, [], 'initialize')).serverInfo.name, 'cloche');
});
test('200 calls, 8 at a time', { skip }, (t) => {
  const outcome = inspect(t, [], 'tools/call', '--tool-name', 'list_directory', '--tool-args-json', '{}', '--load', '--load-requests', '200', '--load-concurrency', '8');
  const summary = result(outcome);
  assert.deepEqual([summary.requests, summary.errors], [200, 0], outcome.stdout);
});
test('a configuration file', { skip }, (t) => {
  const file = join(makeWorkspace(t), 'mcp.json');
  writeFileSync(file, JSON.stringify({ mcpServers: { cloche: { type: 'stdio', command: CLOCHE, args: ['mcp', makeWorkspace(t)] } } }));
  assert.equal(result(run(t, ['--config', file, '--server', 'cloche', '--method', 'tools/list'])).tools.length, TOOLS.length);
});
test('a tool that fails is exit status 5', { skip }, (t) => {
  const { status } = inspect(t, [], 'tools/call', '--tool-name', 'read_file', '--tool-args-json', '{"filepath":"none"}');
  assert.equal(status, 5);
});
