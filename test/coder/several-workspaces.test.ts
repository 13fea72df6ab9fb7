/** Slash commands on a server with several workspaces: each has its own, over JSON-RPC, REST and the flat API. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { trust } from '../../src/coder/settings/trust.ts';
import {
  ExecuteSlashCommandResponse,
  type SlashCommand,
} from '../../src/protocol/development-tool/index.ts';
import { get, post } from './flat-support.ts';
import { makePlace, rpc } from './support.ts';
import { begin, heard } from './talk.ts';

/** Two trusted workspaces with the commands /one and /two, and the user's own /mine. */
async function two(t: TestContext, script: readonly ScriptedResponse[] = []) {
  const place = makePlace(t);
  const configFolder = join(place.home, 'config');
  const command = (folder: string, name: string) => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${name}.md`), `Do what ${name} says: {{args}}`);
  };
  command(join(configFolder, 'commands'), 'mine');
  const roots: string[] = [];
  for (const name of ['one', 'two']) {
    const root = join(place.workspace, name);
    command(join(root, '.parley', 'commands'), name);
    await trust(configFolder, root);
    roots.push(root);
  }
  const talk = await begin(t, script, { place, roots });
  const [one = '', other = ''] = roots;
  return { ...talk, one, two: other };
}

const CUSTOM = new Set(['mine', 'one', 'two']);
const customIn = (reply: unknown): string[] => {
  const { commands } = reply as { commands: SlashCommand[] };
  assert.ok(commands.some(({ name }) => name === 'help'));
  return commands.map(({ name }) => name).filter((name) => CUSTOM.has(name));
};

test('each wire lists the commands of the workspace that the request names', async (t) => {
  const { url, one, two: other } = await two(t);
  const lists = async (path?: string) => {
    const query = (key: string) =>
      path === undefined ? '' : `?${new URLSearchParams({ [key]: path }).toString()}`;
    const rpcReply = await rpc(
      url,
      'commands/get',
      path === undefined ? {} : { workspace_path: path },
    );
    return [
      customIn(rpcReply.result),
      customIn((await get(`${url}/commands${query('workspace_path')}`)).body),
      customIn((await get(`${url}/listCommands${query('workspacePath')}`)).body),
    ];
  };
  assert.deepEqual(await lists(one), [
    ['mine', 'one'],
    ['mine', 'one'],
    ['mine', 'one'],
  ]);
  assert.deepEqual(await lists(other), [
    ['mine', 'two'],
    ['mine', 'two'],
    ['mine', 'two'],
  ]);
  assert.deepEqual(await lists(), [['mine'], ['mine'], ['mine']]);
});

test('parameters are optional, and wrong ones are refused', async (t) => {
  const { url } = await two(t);
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'commands/get' });
  const headers = { 'content-type': 'application/json' };
  const bare = (await (await fetch(url, { method: 'POST', headers, body })).json()) as {
    result: object;
  };
  assert.deepEqual(customIn(bare.result), ['mine']);
  const { error } = await rpc(url, 'commands/get', { workspace_path: '/etc' });
  assert.equal(error?.code, -32602);
  assert.equal((await get(`${url}/commands?workspace_path=/etc`)).status, 400);
  assert.equal((await get(`${url}/listCommands?workspacePath=/etc`)).status, 400);
});

test('a command runs in the workspace that it names, and then in the one of its conversation', async (t) => {
  const done: ScriptedResponse = [{ text: 'Done.' }];
  const { url, one, two: other, requests } = await two(t, [done, done]);
  const execute = async (params: object) => {
    const { result, error } = await rpc(url, 'command/execute', params);
    return { error, ...(result && { started: ExecuteSlashCommandResponse.parse(result) }) };
  };
  const first = await execute({ command_path: ['two'], args: 'now', workspace_path: other });
  assert.equal(first.started?.status, 'STARTED');
  const contextId = await contextOf(url, first.started.execution_id);
  assert.match(heard(requests[0]), /Do what two says: now/);

  const { result } = await rpc(url, 'commands/get', { contextId });
  assert.deepEqual(customIn(result), ['mine', 'two']);
  const query = `?${new URLSearchParams({ contextId }).toString()}`;
  assert.deepEqual(customIn((await get(`${url}/commands${query}`)).body), ['mine', 'two']);
  assert.deepEqual(customIn((await get(`${url}/listCommands${query}`)).body), ['mine', 'two']);

  const again = await execute({ command_path: ['two'], args: 'again', contextId });
  assert.equal(again.started?.status, 'STARTED');
  const foreign = await execute({ command_path: ['one'], contextId });
  assert.equal(foreign.started?.status, 'FAILED_TO_START');
  const moved = await execute({ command_path: ['two'], contextId, workspace_path: one });
  assert.equal(moved.error?.code, -32602, 'a command cannot move a conversation');
});

test('a command that names no workspace is refused, and the reason says what is missing', async (t) => {
  const { url, two: other } = await two(t, [[{ text: 'Done.' }]]);
  const { error } = await rpc(url, 'command/execute', { command_path: ['stats'], args: '' });
  assert.equal(error?.code, -32602);
  assert.match(error.message, /contextId or workspace_path is required: .* several workspaces/);
  const flat = await post(`${url}/executeCommand`, { command: 'stats', args: [] });
  assert.equal(flat.status, 400);
  assert.match(JSON.stringify(flat.body), /several workspaces/);
  const named = { command: 'two', args: ['now'], workspacePath: other };
  const ran = await post(`${url}/executeCommand`, named);
  assert.deepEqual([ran.status, ran.body], [200, { name: 'two', data: 'Done.' }]);
});

async function contextOf(url: string, id: string): Promise<string> {
  for (;;) {
    const { result } = await rpc(url, 'tasks/get', { id });
    assert.ok(result);
    if (result.status.state === 'completed') return result.contextId;
  }
}
