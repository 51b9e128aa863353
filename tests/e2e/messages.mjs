// Looks into every session that a test has with cloche, whichever client it uses: each message of the server must satisfy the JSON
// schema of its revision. To import it is enough (lib.mjs does): processes that are started from then on are watched, and at the end
// of the file's tests it is told what was wrong.
//
// It sees what the client reads, when it reads it, so that a client that does not read stays one.
import assert from 'node:assert/strict';
import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { after } from 'node:test';
import { Session } from './schema.mjs';

export const problems = [];
export const seen = new Map(); // "revision definition" -> how often

// Calls `take` with each line of what is fed to it.
function lineReader(take) {
  const decoder = new TextDecoder('utf-8');
  let rest = '';
  return (chunk) => {
    const parts = (rest + (typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true }))).split('\n');
    rest = parts.pop();
    for (const line of parts) take(line);
  };
}

function parse(line) {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function watch(child) {
  const session = new Session((revision, name) => seen.set(`${revision} ${name}`, (seen.get(`${revision} ${name}`) ?? 0) + 1),
    (problem) => problems.push(problem));
  const fromClient = lineReader((line) => session.sent(parse(line)));
  const fromServer = lineReader((line) => {
    const message = parse(line);
    if (message === undefined) problems.push(`a line that is not JSON: ${line.slice(0, 600)}`);
    else session.received(message);
  });
  const { write, end } = child.stdin;
  child.stdin.write = function (chunk, ...more) {
    fromClient(chunk);
    return write.call(this, chunk, ...more);
  };
  child.stdin.end = function (chunk, ...more) {
    if (chunk && typeof chunk !== 'function') fromClient(chunk);
    return end.call(this, chunk, ...more);
  };
  const { emit } = child.stdout;
  child.stdout.emit = function (name, ...values) {
    if (name === 'data') fromServer(values[0]);
    return emit.call(this, name, ...values);
  };
}

const { spawn } = childProcess;
childProcess.spawn = function (command, words, options) {
  const child = spawn.call(this, command, words, options);
  if (command === process.env.CLOCHE && Array.isArray(words) && words[0] === 'mcp' && child.stdin && child.stdout) watch(child);
  return child;
};
syncBuiltinESMExports();

after(() => {
  assert.deepEqual(problems.slice(0, 20), [], `${problems.length} violations of the protocol's JSON schemas`);
});
