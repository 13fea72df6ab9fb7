/** MCP's reference servers as programs, over each transport: our toolset, and the coding agent with them. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { after, before, describe, test, type TestContext } from 'node:test';
import {
  contentText,
  mcpToolset,
  RichResponse,
  samplingTool,
  scriptedModel,
  Waiting,
  type Answer,
  type McpServerConfig,
  type McpToolset,
} from '../../src/agent/index.ts';
import type { JsonObject } from '../../src/base/index.ts';
import { GetAllSlashCommandsResponse } from '../../src/protocol/development-tool/index.ts';
import { calls, done, lastCall, talk } from '../coder/checked-talk.ts';
import { makePlace, outline, rpc } from '../coder/support.ts';
import { heard, settings } from '../coder/talk.ts';
import { tries } from '../support/interop-table.ts';
import { toolContext } from '../support/tool-context.ts';

const require = createRequire(import.meta.url);
const PACKAGES = {
  'server-everything': require.resolve('@modelcontextprotocol/server-everything/package.json'),
  'server-filesystem': require.resolve('@modelcontextprotocol/server-filesystem/package.json'),
};
const programOf = (name: keyof typeof PACKAGES): string =>
  path.join(path.dirname(PACKAGES[name]), 'dist', 'index.js');
const EVERYTHING = programOf('server-everything');
const FILESYSTEM = programOf('server-filesystem');
const peerOf = (name: keyof typeof PACKAGES, transport: string): string => {
  const { version } = JSON.parse(readFileSync(PACKAGES[name], 'utf8')) as { version: string };
  return `${name} ${version} over ${transport}`;
};
const { signal } = new AbortController();

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Starts the server on a port. Resolves when it listens. */
async function startEverything(transport: 'sse' | 'streamableHttp') {
  const port = await freePort();
  const program = spawn(process.execPath, [EVERYTHING, transport], {
    env: { PATH: process.env['PATH'], PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  for await (const line of createInterface({ input: program.stderr })) {
    if (line.includes(`port ${port}`)) break;
  }
  program.stderr.resume();
  return { port, stop: () => program.kill('SIGKILL') };
}

async function call(toolset: McpToolset, name: string, args: JsonObject = {}) {
  const tool = (await toolset.tools(signal)).find((each) => each.name === `every__${name}`);
  assert.ok(tool, name);
  const progress: unknown[] = [];
  const context = toolContext({ progress: (value) => void progress.push(value) });
  return { result: await tool.run(args, context), progress };
}

/** Continues a call with the answer to its question. */
async function resume(
  toolset: McpToolset,
  name: string,
  asked: unknown,
  said: Omit<Answer, 'questionId'>,
): Promise<unknown> {
  assert.ok(asked instanceof Waiting, String(asked));
  const tool = (await toolset.tools(signal)).find((each) => each.name === `every__${name}`);
  return tool?.run({}, toolContext({ answer: { questionId: asked.question.id, ...said } }));
}

async function answer(...[toolset, name, asked, said]: Parameters<typeof resume>): Promise<string> {
  return String(await resume(toolset, name, asked, said));
}

for (const transport of ['stdio', 'Streamable HTTP', 'SSE'] as const) {
  describe(`server-everything over ${transport}`, () => {
    const peer = peerOf('server-everything', transport);
    const tried = (t: TestContext, operation: string) =>
      tries(t, { protocol: 'MCP', peer, role: 'server', operation });
    let config: McpServerConfig = { name: 'every', command: process.execPath, args: [EVERYTHING] };
    let toolset: McpToolset;
    let stop = (): unknown => undefined;

    before(async () => {
      if (transport !== 'stdio') {
        const isSse = transport === 'SSE';
        const started = await startEverything(isSse ? 'sse' : 'streamableHttp');
        ({ stop } = started);
        const url = `http://127.0.0.1:${started.port}/${isSse ? 'sse' : 'mcp'}`;
        config = { name: 'every', url };
      }
      // The older transport is found without `type`.
      toolset = mcpToolset(config, {
        roots: [{ uri: 'file:///home/ann/project', name: 'project' }],
        sampling: samplingTool({
          server: 'every',
          modelOf: () => scriptedModel([[{ text: 'Hi.' }]]),
        }),
      });
    });
    after(async () => {
      await toolset.close();
      stop();
    });

    if (transport === 'SSE') {
      test('the older transport can be named', async (t) => {
        const named = mcpToolset({ ...config, type: 'sse' });
        t.after(() => named.close());
        assert.equal((await call(named, 'echo', { message: 'hi' })).result, 'Echo: hi');
      });
    }

    test('tools are listed and called, and the server says how to use it', async (t) => {
      tried(t, 'tools');
      assert.equal((await call(toolset, 'echo', { message: 'hello' })).result, 'Echo: hello');
      assert.match(toolset.instructions() ?? '', /Everything Server/);
    });

    test('structured content that repeats the text comes once', async (t) => {
      tried(t, 'structured');
      const { result } = await call(toolset, 'get-structured-content', { location: 'Chicago' });
      assert.deepEqual(result, {
        temperature: 36,
        conditions: 'Light rain / drizzle',
        humidity: 82,
      });
    });

    test('an image comes beside the text', async (t) => {
      tried(t, 'images');
      const { result } = await call(toolset, 'get-tiny-image');
      assert.ok(result instanceof RichResponse);
      assert.equal(result.parts[0]?.mediaType, 'image/png');
      assert.match(JSON.stringify(result.response), /Here's the image.*\\n\\nThe image above/);
    });

    test('progress is reported', async (t) => {
      tried(t, 'progress');
      const { progress } = await call(toolset, 'trigger-long-running-operation', {
        duration: 0.1,
        steps: 2,
      });
      // The last notification may come together with the result, and is then passed over.
      assert.deepEqual(progress[0], { progress: 1, total: 2 });
    });

    test('a form is a question, and its answer is accepted', async (t) => {
      tried(t, 'elicitation');
      const first = await call(toolset, 'trigger-elicitation-request');
      const value = 'name: Ann, integer: 7, titledSingleSelectEnum: green lantern';
      const answered = await answer(toolset, 'trigger-elicitation-request', first.result, {
        value,
      });
      assert.match(answered, /User provided the requested information[^]*"name": "Ann"/);
      assert.match(answered, /"integer": 7[^]*"titledSingleSelectEnum": "hero-2"/);
      const page = await call(toolset, 'trigger-url-elicitation', {
        url: 'https://a.example/login',
        errorPath: true,
      });
      const opened = { value: 'Accept' };
      assert.ok(page.result instanceof Waiting);
      assert.match(page.result.question.text, /^https:\/\/modelcontextprotocol\.io\/$/m);
      const again = await resume(toolset, 'trigger-url-elicitation', page.result, opened);
      const accepted = await answer(toolset, 'trigger-url-elicitation', again, opened);
      assert.match(accepted, /User completed the URL elicitation flow/);
    });

    test('the server gets an answer of the model when a person agrees', async (t) => {
      tried(t, 'sampling');
      const asked = await call(toolset, 'trigger-sampling-request', { prompt: 'Hello?' });
      const yes = { confirmed: true };
      assert.match(await answer(toolset, 'trigger-sampling-request', asked.result, yes), /"Hi\."/);
    });

    test('the server gets the roots', async (t) => {
      tried(t, 'roots');
      const { result } = await call(toolset, 'get-roots-list');
      assert.match(String(result), /1\. project\n +URI: file:\/\/\/home\/ann\/project/);
    });

    const slow = process.env['PARLEY_INTEROP_RESULTS'] === undefined && 'takes four seconds';
    test('a tool that runs only as a task asks, and has its result', { skip: slow }, async (t) => {
      tried(t, 'tasks');
      const topic = { topic: 'python', ambiguous: true };
      const { result, progress } = await call(toolset, 'simulate-research-query', topic);
      assert.match(JSON.stringify(progress), /Gathering sources/);
      const snake = { value: 'Python snake species' };
      const report = await answer(toolset, 'simulate-research-query', result, snake);
      assert.match(report, /^# Research Report: python \(snake\)/);
    });

    test('resources are listed and read, with templates', async (t) => {
      tried(t, 'resources');
      const found = await toolset.resources(signal);
      assert.ok(found.some(({ uri, isTemplate }) => isTemplate && uri.endsWith('{resourceId}')));
      const document = found.find(({ isTemplate }) => !isTemplate);
      const text = (await call(toolset, 'read_resource', { uri: document?.uri ?? '' })).result;
      assert.match(String(text), new RegExp(`^${document?.uri}\n#`));
      const uri = 'demo://resource/dynamic/text/7';
      const made = (await call(toolset, 'read_resource', { uri })).result;
      assert.match(String(made), /^demo:.*\nResource 7: This is a plaintext resource/);
      assert.match(String((await call(toolset, 'read_resource')).result), /\(template\): Dynamic/);
      await assert.rejects(call(toolset, 'read_resource', { uri: 'demo://nothing' }), /refused/);
    });

    test('prompts are listed with their arguments, and filled in', async (t) => {
      tried(t, 'prompts');
      const prompts = await toolset.prompts(signal);
      const weather = prompts.find(({ name }) => name === 'args-prompt');
      assert.deepEqual(
        weather?.arguments.map(({ name, required }) => [name, required]),
        [
          ['city', true],
          ['state', false],
        ],
      );
      const parts = (await weather?.get({ city: 'Oslo' }, signal)) ?? [];
      assert.equal(contentText({ role: 'user', parts }), "What's weather in Oslo?");
      const embedded = prompts.find(({ name }) => name === 'resource-prompt');
      const more = await embedded?.get({ resourceType: 'Text', resourceId: '3' }, signal);
      assert.match(JSON.stringify(more), /demo:\/\/resource\/dynamic\/text\/3\\nResource 3/);
    });
  });
}

test('the coding agent uses the tools, prompts, resources and instructions of server-everything', async (t) => {
  const place = makePlace(t);
  settings(place, {
    mcpServers: { every: { type: 'stdio', command: process.execPath, args: [EVERYTHING] } },
  });
  const { say, goOn, answer, url, requests, onlyWaiting } = await talk(t, [done, done, done], {
    place,
  });
  await say('hello');
  assert.match(requests[0]?.system ?? '', /Notes from MCP servers[^]*## every\n\n[^]*Everything/);

  await goOn('/every:args-prompt city=Bergen');
  assert.match(heard(requests[1]), /What's weather in Bergen\?/);
  const { commands } = GetAllSlashCommandsResponse.parse(
    (await rpc(url, 'commands/get', {})).result,
  );
  const command = commands.find(({ name }) => name === 'every:args-prompt');
  assert.deepEqual(
    command?.arguments.map(({ name, is_required }) => [name, is_required]),
    [
      ['city', true],
      ['state', false],
    ],
  );

  const waiting = await goOn('what is in @every:demo://resource/dynamic/text/5 ?');
  assert.equal(outline(waiting.at(-1)!), 'STATE_CHANGE input-required final');
  assert.equal(onlyWaiting().tool_name, 'every__read_resource');
  const events = await answer('proceed_once');
  assert.match(JSON.stringify(lastCall(events).output), /Resource 5: This is a plaintext/);
  assert.match(heard(requests[2]), /Resource 5: This is a plaintext/);
});

describe('server-filesystem', () => {
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'parley-mcp-')));
  after(() => rmSync(folder, { recursive: true }));
  const peer = peerOf('server-filesystem', 'stdio');
  const files = { command: process.execPath, args: [FILESYSTEM, folder] };

  test('a text that comes as text and as structured content is read once', async (t) => {
    tries(t, { protocol: 'MCP', peer, role: 'server', operation: 'structured' });
    writeFileSync(path.join(folder, 'a.txt'), 'a text');
    const toolset = mcpToolset({ name: 'files', ...files });
    t.after(() => toolset.close());
    const tools = await toolset.tools(signal);
    const read = tools.find(({ name }) => name === 'files__read_text_file');
    assert.equal(await read?.run({ path: path.join(folder, 'a.txt') }, toolContext()), 'a text');
  });

  test('the folders of the server are the roots that it gets', async (t) => {
    tries(t, { protocol: 'MCP', peer, role: 'server', operation: 'roots' });
    const other = realpathSync(mkdtempSync(path.join(tmpdir(), 'parley-mcp-')));
    t.after(() => rmSync(other, { recursive: true }));
    const roots = [{ uri: pathToFileURL(other).href }];
    const toolset = mcpToolset({ name: 'files', ...files }, { roots });
    t.after(() => toolset.close());
    const list = async (): Promise<string> => {
      const tools = await toolset.tools(signal);
      const tool = tools.find(({ name }) => name === 'files__list_allowed_directories');
      return String(await tool?.run({}, toolContext()));
    };
    const deadline = AbortSignal.timeout(20_000);
    while (!(await list()).includes(other)) deadline.throwIfAborted();
    assert.ok(!(await list()).includes(folder));
  });

  test('a file that the model cannot take is saved, and the session goes on', async (t) => {
    tries(t, { protocol: 'MCP', peer, role: 'server', operation: 'tools' });
    const place = makePlace(t);
    const zip = path.join(place.workspace, 'b.zip');
    writeFileSync(zip, 'PK\x03\x04');
    // The server replaces the folders in its arguments by the roots that it gets: the workspace.
    const args = [FILESYSTEM, place.workspace];
    settings(place, { mcpServers: { files: { ...files, args } } });
    const { say, goOn, requests } = await talk(
      t,
      [calls('files__read_media_file', { path: zip }), done, done],
      { place, mode: 'yolo' },
    );
    await say('read it');
    const saved = /saved as (\S+?)\]/.exec(heard(requests[1]))?.[1] ?? '';
    assert.equal(readFileSync(saved, 'utf8'), 'PK\x03\x04');
    assert.equal(statSync(saved).mode & 0o777, 0o600);
    const events = await goOn('and now?');
    assert.equal(outline(events.at(-1)!), 'STATE_CHANGE completed final');
  });
});
