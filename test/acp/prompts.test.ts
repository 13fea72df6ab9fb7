/** Prompts of MCP servers as commands of an editor. */
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { calls, done } from '../coder/checked-talk.ts';
import { makePlace } from '../coder/support.ts';
import { settings } from '../coder/talk.ts';
import { editorIn, startLive, type Editor } from './support.ts';

const program = {
  command: process.execPath,
  args: ['--conditions=parley-source', resolve(import.meta.dirname, '../e2e/mcp-server.ts')],
};

function offered(editor: Editor): string[] {
  const last = editor.of('available_commands_update').at(-1);
  return last?.availableCommands.map(({ name }) => name) ?? [];
}

test('an editor gets the prompts of an MCP server as commands, and new ones when the server adds them', async (t) => {
  const place = makePlace(t);
  settings(place, { mcpServers: { tools: program } });
  const script = [calls('tools__grows', {}), done, done];
  const started = await startLive(t, { place, script, mode: 'yolo' });
  const editor = editorIn(t, started);
  await editor.open();
  const offers = (name: string): boolean => offered(editor).includes(name);
  await editor.until(() => offers('tools:greet'));
  assert.equal(offers('tools:grown'), false);
  await editor.prompt('grow');
  await editor.until(() => offers('tools:grown'));
});

test('an editor gets the prompts of its own MCP server before the first turn', async (t) => {
  const mcpServers = { mine: program };
  const started = await startLive(t, { mcpServers, allowClientMcp: true });
  const editor = editorIn(t, started);
  await editor.open();
  await editor.until(() => offered(editor).includes('mine:greet'));
});
