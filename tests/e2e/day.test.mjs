// A session like an agent's day: write a program with a fault, run it, see the failure, mend it, commit it, build another.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { allGone, bad, bash, connect, contains, good, makeWorkspace } from './lib.mjs';

const BUGGY = `def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + c
    return a


if __name__ == "__main__":
    print("fibonacci(30) =", fibonacci(30))
`;

const TESTS = `import unittest

from fib import fibonacci


class Fibonacci(unittest.TestCase):
    def test_small(self):
        self.assertEqual([fibonacci(n) for n in range(8)], [0, 1, 1, 2, 3, 5, 8, 13])


if __name__ == "__main__":
    unittest.main()
`;

function needs(t, ...tools) {
  for (const tool of tools) {
    if (!['/usr/local/bin', '/usr/bin', '/bin'].some((dir) => existsSync(join(dir, tool)))) {
      t.skip(`no ${tool} in /usr`);
      return false;
    }
  }
  return true;
}

test('an agent\'s day', async (t) => {
  const dir = makeWorkspace(t);
  const hasGit = ['/usr/local/bin/git', '/usr/bin/git', '/bin/git'].some((file) => existsSync(file));
  if (hasGit) execFileSync('git', ['init', '-q', dir]); // inside it cannot be made: its settings and hooks are protected
  const client = await connect(t, dir);

  await t.test('write, run, see the failure, mend, run again', async (t) => {
    if (!needs(t, 'python3')) return;
    await good(client, 'list_directory', {}, 'Directory is empty');
    await good(client, 'write_file', { filepath: 'fib.py', content: BUGGY });
    const failure = await good(client, 'run_bash', { command: 'python3 fib.py' }, '[Exit code: 1]', 'NameError', 'line 4');
    contains(failure, "'c' is not defined");
    await good(client, 'read_file', { filepath: 'fib.py', offset: 3, limit: 1 }, 'a + c');
    const edits = [{ old: 'a, b = b, a + c', new: 'a, b = b, a + b' }];
    await good(client, 'search_and_replace', { filepath: 'fib.py', edits, dry_run: true }, 'DRY RUN', '-        a, b = b, a + c', '+        a, b = b, a + b');
    contains(await good(client, 'read_file', { filepath: 'fib.py' }), 'a + c');
    await good(client, 'search_and_replace', { filepath: 'fib.py', edits }, 'Successfully applied 1 edits');
    assert.equal(await bash(client, 'python3 fib.py'), 'fibonacci(30) = 832040\n');
    assert.equal(readFileSync(join(dir, 'fib.py'), 'utf8'), BUGGY.replace('+ c', '+ b'));
    assert.equal(statSync(join(dir, 'fib.py')).uid, process.getuid());
  });

  await t.test('unit tests', async (t) => {
    if (!needs(t, 'python3')) return;
    await good(client, 'write_file', { filepath: 'test_fib.py', content: TESTS });
    contains(await bash(client, 'python3 -m unittest -v 2>&1'), 'OK');
  });

  await t.test('version control, with a clone', async (t) => {
    if (!needs(t, 'git')) return;
    await bad(client, 'write_file', { filepath: '.git/hooks/pre-commit', content: '#!/bin/sh\n' }, 'protected path');
    await good(client, 'run_bash', { command: 'git config core.fsmonitor evil' }, 'protected paths');
    await bash(client, 'printf "__pycache__/\\n" >.gitignore && git add -A && git commit -q -m "Fibonacci numbers"');
    contains(await bash(client, 'git log --oneline && git status --short'), 'Fibonacci numbers');
    await bash(client, 'git clone -q . /tmp/copy && cd /tmp/copy && git log -1 --format=%an | grep -qx agent');
    contains(execFileSync('git', ['-c', 'safe.directory=*', '-C', dir, 'log', '--format=%an %s'], { encoding: 'utf8' }), 'agent Fibonacci numbers');
  });

  await t.test('C, with make', async (t) => {
    if (!needs(t, 'gcc', 'make')) return;
    await good(client, 'write_file', { filepath: 'c/sum.c', content: '#include <stdio.h>\nint main(void)\n{\n\tint s = 0;\n\tfor (int i = 1; i <= 10; i++)\n\t\ts += i\n\tprintf("%d\\n", s);\n}\n' });
    await good(client, 'write_file', { filepath: 'c/Makefile', content: 'sum: sum.c\n\tgcc -Wall -Werror -o $@ $<\n' });
    await good(client, 'run_bash', { command: 'make -C c' }, '[Exit code: 2]', /sum\.c:6:\d+: error/);
    await good(client, 'search_and_replace', { filepath: 'c/sum.c', edits: [{ old: 's += i\n', new: 's += i;\n' }] }, 'Successfully applied');
    assert.equal(await bash(client, 'make -s -C c && c/sum'), '55\n');
  });

  await t.test('a script for node', async (t) => {
    if (!needs(t, 'node')) return;
    await good(client, 'write_file', { filepath: 'js/main.js', content: 'console.log([1, 2, 3].map((x) => x * 2).join("+"));\n' });
    assert.equal(await bash(client, 'node js/main.js'), '2+4+6\n');
  });

  await t.test('a development server that dies with its command', async (t) => {
    if (!needs(t, 'python3', 'curl')) return;
    const text = await bash(client, `python3 -m http.server 8000 >/tmp/log 2>&1 &
      i=0; until curl -sf http://localhost:8000/fib.py; do i=$((i+1)); [ $i -lt 50 ] || exit 1; sleep 0.1; done`);
    contains(text, 'def fibonacci');
    await allGone('http.server 8000'.split(' ').join('\0'));
    await good(client, 'run_bash', { command: 'curl -s --max-time 2 http://localhost:8000/' }, '[Exit code: 7]');
  });

  await t.test('finding things again', async () => {
    await good(client, 'search_workspace', { pattern: '**/*.{py,c}' }, 'fib.py');
    await bad(client, 'read_file', { filepath: 'fibonacci.py' }, 'not found', 'list_directory');
    await good(client, 'list_directory', {}, '[F] fib.py');
  });
  assert.deepEqual(client.errors, []);
});
