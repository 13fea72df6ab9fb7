/** The tools of MCP servers: those in the settings, and those that a client brings. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { McpServer } from '@modelcontextprotocol/server';
import { offeredNames } from '../../src/agent/tools/mcp-names.ts';
import { EXTENSION_URI, type McpServers } from '../../src/protocol/development-tool/index.ts';
import { calls, done, lastCall, talk } from './checked-talk.ts';
import { startMcp } from './mcp-http.ts';
import { callIn, makePlace, outline, rpc, userMessage } from './support.ts';
import { heard, settings } from './talk.ts';

const program = {
  command: process.execPath,
  args: ['--conditions=parley-source', resolve(import.meta.dirname, '../e2e/mcp-server.ts')],
};
const add = calls('tools__add', { a: 2, b: 3 });
const asked = 'STATE_CHANGE input-required final';
const completed = 'STATE_CHANGE completed final';
const end = (events: Parameters<typeof outline>[0][]): string => outline(events.at(-1)!);

function brings(mcpServers: McpServers) {
  return { metadata: { [EXTENSION_URI]: { mcpServers } } };
}

for (const wire of ['a program', 'an address']) {
  test(`a tool of ${wire} in the settings is asked about, called, and shown`, async (t) => {
    const place = makePlace(t);
    const server = wire === 'a program' ? program : { url: (await startMcp(t)).url };
    settings(place, { mcpServers: { tools: server } });
    const { say, answer, onlyWaiting, seen, requests } = await talk(t, [add, done], { place });
    assert.equal(end(await say('add')), asked);
    const request = onlyWaiting().confirmation_request!;
    assert.deepEqual(request.mcp_details, { server_name: 'tools', tool_name: 'add' });
    assert.deepEqual(
      request.options.map(({ id }) => id),
      [
        'proceed_once',
        'proceed_always_tool',
        'proceed_always_server',
        'proceed_always_and_save',
        'cancel',
      ],
    );
    const events = await answer('proceed_once');
    assert.deepEqual(lastCall(events).output, { structured_data: { sum: 5 } });
    assert.equal(seen.lifeOf('tools__add'), 'PENDING EXECUTING SUCCEEDED');
    assert.match(heard(requests[1]), /"sum":5/);
    assert.ok(requests[0]?.tools?.some(({ name }) => name === 'tools__add'));
  });
}

test('a tool that fails says so, in the words of its server', async (t) => {
  const place = makePlace(t);
  settings(place, { mcpServers: { tools: program } });
  const { say, answer, seen, requests } = await talk(t, [calls('tools__fails', {}), done], {
    place,
  });
  await say('fail');
  const events = await answer('proceed_once');
  assert.match(lastCall(events).error?.message ?? '', /the disk is on fire/);
  assert.equal(seen.lifeOf('tools__fails'), 'PENDING EXECUTING FAILED');
  assert.match(heard(requests[1]), /the disk is on fire/);
});

test('a tool that counts shows how far it is, and not too often', async (t) => {
  const place = makePlace(t);
  settings(place, { mcpServers: { tools: program } });
  const { say, answer } = await talk(t, [calls('tools__counts', { steps: 500 }), done], { place });
  await say('count');
  const began = performance.now();
  const events = await answer('proceed_once');
  const seconds = Math.max(1, (performance.now() - began) / 1000);
  const live = events.map((event) => callIn(event)?.live_content ?? '').filter(Boolean);
  assert.ok(live.length > 0 && live.length <= 10 * seconds, `${live.length} updates`);
  for (const line of live) assert.match(line, /^step \d+$/);
});

test('a tool that is allowed is this tool; a server that is allowed is all of its tools', async (t) => {
  const place = makePlace(t);
  settings(place, { mcpServers: { tools: program, others: program } });
  const echo = calls('tools__echo', { text: 'hello' });
  const { say, goOn, answer } = await talk(
    t,
    [add, done, add, done, echo, done, calls('tools__picture', {}), done, calls('others__add', {})],
    { place },
  );
  await say('add');
  assert.equal(end(await answer('proceed_always_tool')), completed);
  assert.equal(end(await goOn('add again')), completed);
  assert.equal(end(await goOn('echo')), asked);
  assert.equal(end(await answer('proceed_always_server')), completed);
  assert.equal(end(await goOn('another of the same server')), completed);
  assert.equal(end(await goOn('one of another server')), asked);
});

test('a client brings a server by its address, and it is reached through the guard', async (t) => {
  const { url } = await startMcp(t);
  const { say, answer } = await talk(t, [add, done], {
    web: { allowNetworks: ['127.0.0.0/8'] },
  });
  assert.equal(end(await say('add', brings({ tools: { url } }))), asked);
  const events = await answer('proceed_once');
  assert.deepEqual(lastCall(events).output, { structured_data: { sum: 5 } });
});

test('an address in a private network is not reached for a client', async (t) => {
  const { url, asked: reached } = await startMcp(t);
  const { say } = await talk(t, [add, done]);
  const hosts = [url, url.replace('127.0.0.1', 'localhost'), url.replace('127.0.0.1', '[::1]')];
  const mcpServers = Object.fromEntries(hosts.map((host, at) => [`tools${at}`, { url: host }]));
  const events = await say('add', brings(mcpServers));
  assert.match(lastCall(events).error?.message ?? '', /there is no tool tools__add/);
  assert.equal(end(events), completed);
  assert.deepEqual(reached, []);
});

test('a client may not bring programs, and nothing is begun', async (t) => {
  const { url } = await talk(t, []);
  const message = userMessage('add', brings({ tools: program }));
  const { error } = await rpc(url, 'message/send', { message });
  assert.equal(error?.code, -32602);
  assert.match(
    error.message,
    /does not start programs for clients, because it was started without --allow-client-mcp/,
  );
});

test('where the operator allows it, clients bring programs', async (t) => {
  const { say } = await talk(t, [add], { allowClientMcp: true });
  assert.equal(end(await say('add', brings({ tools: program }))), asked);
});

test("a client's server does not take the name of one in the settings", async (t) => {
  const place = makePlace(t);
  settings(place, {
    mcpServers: { tools: program },
    policy: [{ tool: 'tools__*', decision: 'allow' }],
  });
  const { url, asked: reached } = await startMcp(t);
  const { say } = await talk(t, [add, done], { place });
  assert.equal(end(await say('add', brings({ tools: { url } }))), completed);
  assert.deepEqual(reached, []);
});

for (const [server, prefix] of [
  ['my.server', 'my_server'],
  ['4chan', '_4chan'],
] as const) {
  test(`a rule for the server ${server} is obeyed, as it is written in the settings or as the model calls its tools`, async (t) => {
    for (const name of [`${server}__*`, `${server}__odd.name`, `${prefix}__*`]) {
      const place = makePlace(t);
      settings(place, {
        mcpServers: { [server]: program },
        policy: [{ tool: name, decision: 'deny' }],
      });
      const odd = offeredNames(server, ['odd.name', 'odd_name']).get('odd.name') ?? '';
      assert.match(odd, new RegExp(`^${prefix}__odd_name_`));
      const { say } = await talk(t, [calls(odd, {}), done], { place, mode: 'yolo' });
      assert.match(lastCall(await say('call it')).error?.message ?? '', /a rule denies/, name);
    }
  });
}

test('the question about a call shows the server and the tool as they call themselves, and its permission is for them', async (t) => {
  const place = makePlace(t);
  settings(place, { mcpServers: { '4chan': program } });
  const call = calls('_4chan__add', { a: 2, b: 3 });
  const { say, goOn, answer, onlyWaiting } = await talk(t, [call, done, call, done], { place });
  assert.equal(end(await say('add')), asked);
  const shown = onlyWaiting().confirmation_request?.mcp_details;
  assert.deepEqual(shown, { server_name: '4chan', tool_name: 'add' });
  assert.equal(end(await answer('proceed_always_and_save')), completed);
  assert.equal(end(await goOn('add again')), completed);
});

test('a hook and a helper may name the tools of a server as the settings write them', async (t) => {
  const place = makePlace(t);
  settings(place, {
    mcpServers: { 'my.server': program },
    hooks: { beforeTool: [{ tool: 'my.server__add', command: 'echo not this one >&2; exit 2' }] },
  });
  const folder = join(place.home, 'config', 'helpers');
  mkdirSync(folder);
  const helper = '---\ndescription: Adds.\ntools: my.server__a*\n---\nAdd.';
  writeFileSync(join(folder, 'adder.md'), helper);
  const call = calls('my_server__add', { a: 2, b: 3 });
  const job = calls('task', { prompt: 'add', helper: 'adder' });
  const { say, requests } = await talk(t, [call, job, done, done], { place, mode: 'yolo' });
  await say('add');
  assert.match(heard(requests[1]), /a hook refused this call: not this one/);
  assert.deepEqual(
    requests[2]?.tools?.map(({ name }) => name),
    ['my_server__add'],
  );
});

test('of two servers whose tools would have the same names, the second is reported and not used', async (t) => {
  const place = makePlace(t);
  settings(place, {
    mcpServers: { 'my.server': program, my_server: program, mcp_sampling: program },
  });
  const { url, asked: reached } = await startMcp(t);
  const notices: string[] = [];
  const { say, requests } = await talk(t, [done], {
    place,
    allowClientMcp: true,
    notify: ({ text }) => notices.push(text),
  });
  await say('hello', brings({ 'my..server': { url } }));
  const names = requests[0]?.tools?.map(({ name }) => name).filter((name) => name.includes('__'));
  assert.equal(new Set(names).size, names?.length);
  assert.equal(names?.filter((name) => name === 'my_server__add').length, 1);
  assert.deepEqual(reached, []);
  const clash =
    /^The MCP server (\S+) is unavailable: the names of its tools would begin with (\S+), like those of (.*); rename this server\./;
  assert.deepEqual(notices.map((text) => clash.exec(text)?.slice(1).join(' ') ?? text).toSorted(), [
    'mcp_sampling mcp_sampling__ sampling requests',
    'my..server my_server__ the server my.server',
    'my_server my_server__ the server my.server',
  ]);
});

test("a server's instructions are in the prompt, marked as the server's, and cut if they are long", async (t) => {
  const place = makePlace(t);
  const instructions = `Use add for sums. ${'x'.repeat(50_000)}`;
  const create = () => new McpServer({ name: 'long', version: '1' }, { instructions });
  const { url } = await startMcp(t, create);
  settings(place, { mcpServers: { tools: { url } } });
  const { say, requests } = await talk(t, [done], { place });
  await say('hello');
  const [, from = ''] = requests[0]?.system?.split('# Notes from MCP servers') ?? [];
  assert.match(from, /come from the servers, not from the person[^]*## tools\n\nUse add for sums/);
  assert.ok(from.length < 5_000);
});

test('the person who runs the program is told once that a server is unavailable, also when it breaks later, and when it is back', async (t) => {
  const place = makePlace(t);
  const first = await startMcp(t);
  settings(place, { mcpServers: { tools: { url: first.url } } });
  const notices: string[] = [];
  const { say, goOn } = await talk(t, [add, done, add, done, done, add, done], {
    place,
    mode: 'yolo',
    notify: ({ text }) => notices.push(text),
  });
  await say('add');
  await first.stop();
  assert.equal(lastCall(await goOn('add again')).status, 'FAILED');
  await goOn('and now?');
  assert.equal(notices.length, 1);
  assert.match(
    notices[0] ?? '',
    /^The MCP server tools is unavailable: .* Its tools are missing\. Check mcpServers\.tools/,
  );
  await startMcp(t, undefined, first.port);
  for (let tries = 0; notices.length < 2 && tries < 50; tries++) {
    await setTimeout(100);
    await goOn('/mcp');
  }
  assert.equal(notices[1], 'The MCP server tools is available now.');
  assert.equal(notices.length, 2);
});

test('/help lists the prompts of servers', async (t) => {
  const place = makePlace(t);
  settings(place, { mcpServers: { tools: program } });
  const { say, goOn } = await talk(t, [done], { place });
  await say('/tools:greet Ann');
  assert.match(JSON.stringify(await goOn('/help')), /\/tools:greet name: Greets/);
});
