// Toolsets with real MCP servers: a child process over stdio, and streamable HTTP on loopback.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonValue } from '../../src/base/index.ts';
import { RichResponse } from '../../src/agent/tool.ts';
import { mcpToolset, type McpOptions } from '../../src/agent/tools/mcp.ts';
import { toolContext } from '../support/tool-context.ts';

import { call, find, isMcp, never, overHttp, overStdio } from './mcp-support.ts';

for (const [how, open] of [
  ['stdio', overStdio],
  ['http', overHttp],
] as const) {
  describe(`mcp over ${how}`, () => {
    test("the server's tools are offered under its name, with their schemas", async (t) => {
      const { toolset } = await open(t);
      const add = await find(toolset, 'add');
      assert.equal(add.description, 'Adds two numbers');
      const { properties, required } = add.parameters;
      assert.deepEqual(Object.keys(properties ?? {}), ['a', 'b']);
      assert.deepEqual(required, ['a', 'b']);
    });

    test('two tools whose names become the same stay two', async (t) => {
      const { toolset } = await open(t);
      const names = (await toolset.tools(never)).map(({ name }) => name);
      const odd = names.filter((name) => name.startsWith('srv__odd_name'));
      assert.equal(odd.length, 2);
      assert.equal(await call(toolset, 'odd_name'), 'odd_name');
      const other = odd.find((name) => name !== 'srv__odd_name')?.slice('srv__'.length) ?? '';
      assert.equal(await call(toolset, other), 'odd.name');
    });

    test('a call returns the data, else the words', async (t) => {
      const { toolset } = await open(t);
      assert.deepEqual(await call(toolset, 'add', { a: 1, b: 2 }), { sum: 3 });
      assert.equal(await call(toolset, 'echo', { text: 'hello' }), 'hello');
    });

    test('pictures and files stand beside the words', async (t) => {
      const { toolset } = await open(t);
      const result = await call(toolset, 'picture');
      assert.ok(result instanceof RichResponse);
      assert.equal(result.response, 'a dot\n\ntest://notes\nsome notes');
      assert.deepEqual(result.parts, [
        { kind: 'blob', mediaType: 'image/png', data: 'iVBORw0KGgo=' },
        { kind: 'file', uri: 'https://a.example/file.pdf', name: 'file.pdf' },
      ]);
    });

    test("a tool's own error is thrown with its words", async (t) => {
      const { toolset } = await open(t);
      await assert.rejects(call(toolset, 'fails'), isMcp('tool', /^the disk is on fire$/));
    });

    test('arguments that the server refuses are an error of the tool', async (t) => {
      const { toolset } = await open(t);
      await assert.rejects(call(toolset, 'add', { a: 'one' }), isMcp('tool'));
    });

    test('progress is shown', async (t) => {
      const { toolset } = await open(t);
      const shown: JsonValue[] = [];
      const progress = (value: JsonValue) => void shown.push(value);
      assert.equal(await call(toolset, 'counts', { steps: 2 }, { progress }), 'counted');
      assert.deepEqual(shown, [
        { progress: 1, total: 2, message: 'step 1' },
        { progress: 2, total: 2, message: 'step 2' },
      ]);
    });

    test('an abort cancels the call on the server', async (t) => {
      const { toolset, notes } = await open(t);
      const stop = new AbortController();
      const calling = call(toolset, 'waits', {}, { signal: stop.signal });
      await notes.find(/^waiting$/);
      const reason = new Error('enough');
      stop.abort(reason);
      await assert.rejects(calling, (error) => error === reason);
      await notes.find(/^cancelled$/);
      assert.deepEqual(await call(toolset, 'add', { a: 1, b: 1 }), { sum: 2 });
    });

    test('a call without an answer ends in time, and is cancelled on the server', async (t) => {
      const { toolset, notes } = await open(t, { callTimeoutMs: 1_000 });
      await find(toolset, 'waits');
      await assert.rejects(
        call(toolset, 'waits'),
        isMcp('timeout', /did not respond within 1000 ms/),
      );
      await notes.find(/^cancelled$/);
    });

    test('a tool that the server adds is there when the tools are asked for again', async (t) => {
      const { toolset } = await open(t);
      await call(toolset, 'grows');
      const deadline = AbortSignal.timeout(20_000);
      for (;;) {
        const tools = await toolset.tools(deadline);
        if (tools.some(({ name }) => name === 'srv__grown')) break;
        await new Promise((resolve) => setImmediate(resolve));
        deadline.throwIfAborted();
      }
    });

    test('the list is asked for once', async (t) => {
      const { toolset } = await open(t);
      assert.equal(await toolset.tools(never), await toolset.tools(never));
    });

    test('after the server died and is back, calls go on', async (t) => {
      const { toolset, kill, restart } = await open(t);
      assert.deepEqual(await call(toolset, 'add', { a: 1, b: 2 }), { sum: 3 });
      const add = await find(toolset, 'add');
      await kill();
      await restart();
      // Whoever comes before the death is noticed gets its error, and nobody a second one.
      const again = () => add.run({ a: 2, b: 2 }, toolContext());
      const result = await Promise.resolve(again()).catch(async (error: unknown) => {
        assert.ok(isMcp('unreachable')(error), String(error));
        return again();
      });
      assert.deepEqual(result, { sum: 4 });
    });

    test('after close nothing goes on', async (t) => {
      const { toolset } = await open(t);
      const add = await find(toolset, 'add');
      await toolset.close?.();
      await assert.rejects(toolset.tools(never), isMcp('closed'));
      await assert.rejects(async () => add.run({ a: 1, b: 1 }, toolContext()), isMcp('closed'));
    });

    test('only what is wanted is offered', async (t) => {
      const { toolset } = await open(t, { include: ['add', 'echo', 'fails'], exclude: ['echo'] });
      const names = (await toolset.tools(never)).map(({ name }) => name);
      assert.deepEqual(names, ['srv__add', 'srv__fails']);
    });

    test('whether a person has to allow a call is as the options say', async (t) => {
      const asked = async (confirm: McpOptions['confirm'], name: string) => {
        const { toolset } = await open(t, confirm === undefined ? {} : { confirm });
        const tool = await find(toolset, name);
        return tool.confirm?.({ a: 1 }, toolContext());
      };
      assert.equal(await asked(undefined, 'echo'), undefined);
      assert.equal(await asked('all', 'add'), true);
      assert.equal(await asked('writes', 'add'), false);
      assert.equal(await asked('writes', 'echo'), true);
      assert.equal(await asked('all', 'read_resource'), true);
      assert.equal(await asked('writes', 'read_resource'), false);
      const rule: McpOptions['confirm'] = (tool, args) => ({ text: JSON.stringify([tool, args]) });
      assert.deepEqual(await asked(rule, 'add'), {
        text: '[{"name":"add","readOnly":true,"destructive":false},{"a":1}]',
      });
    });
  });
}

describe('an MCP server that is a program', () => {
  test('ends with the toolset', async (t) => {
    const { toolset, notes } = await overStdio(t);
    await toolset.tools(never);
    const pid = Number((await notes.find(/^pid /)).slice(4));
    assert.equal(process.kill(pid, 0), true);
    await toolset.close?.();
    assert.throws(() => process.kill(pid, 0), /ESRCH/);
  });

  test('that ends in the middle of a call fails the call, and is started again for the next', async (t) => {
    const { toolset } = await overStdio(t);
    await assert.rejects(call(toolset, 'dies'), isMcp('unreachable', /outcome|unknown/));
    assert.equal(await call(toolset, 'echo', { text: 'back' }), 'back');
  });

  test('does not get our keys', async (t) => {
    process.env['PARLEY_TEST_SECRET'] = 'secret';
    t.after(() => delete process.env['PARLEY_TEST_SECRET']);
    const { toolset } = await overStdio(t);
    const environment = String(await call(toolset, 'environment'));
    assert.match(environment, /PATH/);
    assert.doesNotMatch(environment, /PARLEY_TEST_SECRET/);
  });

  test('that cannot be started is one clear error, and not tried again at once', async (t) => {
    const server = { name: 'srv', command: '/nowhere/no-such-program' };
    const toolset = mcpToolset(server, { retryDelayMs: 60_000 });
    t.after(() => toolset.close());
    const problem = isMcp('unreachable', /the MCP server srv is unavailable: .*ENOENT/);
    await assert.rejects(toolset.tools(never), problem);
    await assert.rejects(toolset.tools(never), problem);
  });

  for (const [what, code, says] of [
    [
      'the first error',
      'console.error("starting\\nError: no database\\nbye"); process.exit(3)',
      'Error: no database',
    ],
    [
      'its last words',
      'process.stderr.write("starting\\nno database"); process.exit(3)',
      'no database',
    ],
  ] as const) {
    test(`that ends before it is ready is quoted with ${what}`, async (t) => {
      const toolset = mcpToolset({ name: 'srv', command: process.execPath, args: ['-e', code] });
      t.after(() => toolset.close());
      const problem = new RegExp(`^the MCP server srv is unavailable: [^\\n]*: ${says}$`);
      await assert.rejects(toolset.tools(never), isMcp('unreachable', problem));
    });
  }

  test('whoever leaves while it starts leaves at once, and others still get it', async (t) => {
    const { toolset } = await overStdio(t);
    const stop = new AbortController();
    const leaving = toolset.tools(stop.signal);
    const staying = toolset.tools(never);
    stop.abort(new Error('enough'));
    await assert.rejects(leaving, /enough/);
    assert.ok((await staying).length > 5);
  });
});
