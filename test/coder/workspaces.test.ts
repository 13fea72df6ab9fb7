/** Many workspaces on one server, one after the other and at the same time. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { EXTENSION_URI } from '../../src/protocol/development-tool/index.ts';
import { get, newTask } from './flat-support.ts';
import { startMcp } from './mcp-http.ts';
import { makePlace, rpc, startCoder, userMessage, type Place } from './support.ts';

/** One more than are open at the same time. */
const MANY = 65;

function folders({ workspace }: Place): string[] {
  return Array.from({ length: MANY }, (_, at) => {
    const folder = join(workspace, `project-${at}`);
    mkdirSync(folder);
    return folder;
  });
}

const sayIn = async (url: string, folder: string) => {
  const metadata = { [EXTENSION_URI]: { workspace_path: folder } };
  const { result, error } = await rpc(url, 'message/send', {
    message: userMessage('hello', { metadata }),
  });
  assert.equal(error, undefined);
  return result?.status;
};

test('a workspace that nobody uses any more makes room for another', async (t) => {
  const place = makePlace(t);
  const script: ScriptedResponse[] = Array.from({ length: MANY }, () => [{ text: 'Hello.' }]);
  const { url } = await startCoder(t, place, { script });
  for (const folder of folders(place)) assert.equal((await sayIn(url, folder))?.state, 'completed');
});

test('a workspace with a background job is kept, and its job goes on', async (t) => {
  const place = makePlace(t);
  const job = { name: 'run_shell_command', args: { command: 'sleep 60', background: true } };
  const script: ScriptedResponse[] = [
    [{ call: job }],
    ...Array.from({ length: MANY }, () => [{ text: 'Hello.' }]),
    [{ call: { name: 'shell_jobs', args: {} } }],
    [{ text: 'Still there.' }],
  ];
  const { url } = await startCoder(t, place, { script, mode: 'yolo' });
  const [first = '', ...others] = folders(place);
  for (const folder of [first, ...others]) await sayIn(url, folder);
  const metadata = { [EXTENSION_URI]: { workspace_path: first } };
  const { result } = await rpc(url, 'message/send', { message: userMessage('and?', { metadata }) });
  assert.match(JSON.stringify(result), /"job":"job-1","command":"sleep 60","state":"running"/);
});

test('a workspace whose MCP servers are being listed is not closed for another', async (t) => {
  const place = makePlace(t);
  const script: ScriptedResponse[] = Array.from({ length: MANY }, () => [{ text: 'Hello.' }]);
  const { url } = await startCoder(t, place, { script, allowClientMcp: true });
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  const mcp = await startMcp(t, undefined, 0, async () => {
    reached.resolve();
    await opened.promise;
    return false;
  });
  const [first = '', ...others] = folders(place);
  const mcpServers = { tools: { url: mcp.url } };
  const id = await newTask(url, { agentSettings: { workspacePath: first, mcpServers } });
  const listed = get(`${url}/tasks/${id}/metadata`);
  await reached.promise;
  for (const folder of others) assert.equal((await sayIn(url, folder))?.state, 'completed');
  opened.resolve();
  assert.match(JSON.stringify((await listed).body), /"name":"tools","status":"connected"/);
});
