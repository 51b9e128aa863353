// The MCP Inspector's command line, in both eras, with its lint of the tools' schemas.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { CLOCHE, TOOLS, makeWorkspace } from './lib.mjs';

const [major, minor] = process.versions.node.split('.').map(Number);
const program = fileURLToPath(import.meta.resolve('@modelcontextprotocol/inspector/package.json')).replace('package.json', 'clients/launcher/build/index.js');
const skip = (major > 22 || (major === 22 && minor >= 19)) ? false : `the Inspector needs Node 22.19, this is ${process.versions.node}`;

function inspect(t, options, ...request) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, '--cli', '-q', ...options, CLOCHE, 'mcp', makeWorkspace(t), '--method', ...request, '--format', 'json'], {
    encoding: 'utf8',
    timeout: 60000,
    env: { PATH: process.env.PATH, HOME: makeWorkspace(t), MCP_INSPECTOR_SECRET_STORE: 'memory' },
  });
  return { status, stdout, stderr };
}

function listed({ status, stdout, stderr }) {
  assert.equal(status, 0, `${stdout}${stderr}`);
  const answer = JSON.parse(stdout);
  return (answer.tools ?? answer.result.tools).map((tool) => tool.name).sort();
}

for (const era of ['legacy', 'modern', 'auto']) {
  test(`tools/list, ${era}`, { skip }, (t) => {
    assert.deepEqual(listed(inspect(t, ['--protocol-era', era], 'tools/list')), [...TOOLS].sort());
  });
  test(`tools/call, ${era}`, { skip }, (t) => {
    const { status, stdout, stderr } = inspect(t, ['--protocol-era', era], 'tools/call', '--tool-name', 'run_bash', '--tool-args-json', '{"command":"echo from $((40 + 2))"}');
    assert.equal(status, 0, `${stdout}${stderr}`);
    assert.ok(stdout.includes('from 42'), stdout);
  });
}
test('the schemas are portable (--strict)', { skip }, (t) => {
  const { status, stdout, stderr } = inspect(t, ['--protocol-era', 'modern', '--strict'], 'tools/list');
  assert.equal(status, 0, `${stdout}${stderr}`);
});
test('a tool that fails is exit status 5', { skip }, (t) => {
  const { status } = inspect(t, [], 'tools/call', '--tool-name', 'read_file', '--tool-args-json', '{"filepath":"none"}');
  assert.equal(status, 5);
});
