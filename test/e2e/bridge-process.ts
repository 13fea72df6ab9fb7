/**
 * One of the two processes of bridge-two-processes.test.ts: serves an agent of the framework until it is killed.
 *
 *   node bridge-process.ts inner FOLDER PORT SCRIPTS     parallel(left, right), whose models replay their scripts
 *   node bridge-process.ts outer FOLDER PORT URL         sequential(local, remote at URL)
 *
 * The folder holds the stores, and the files by which the tools and the test talk.
 */
import { existsSync, watch, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import path from 'node:path';
import {
  customAgent,
  llmAgent,
  parallelAgent,
  scriptedModel,
  sequentialAgent,
  tool,
  type Agent,
  type ScriptedResponse,
} from 'parley-a2a/agent';
import { sqliteSessions } from 'parley-a2a/agent/sqlite';
import { toA2AAgent, remoteAgent } from 'parley-a2a/bridge';
import { serve } from 'parley-a2a/server';
import { sqliteStore } from 'parley-a2a/store/sqlite';
import * as z from 'zod';

const [role, folder = '', port, extra = ''] = process.argv.slice(2);
const file = (name: string): string => path.join(folder, name);

const tools = [
  tool({
    name: 'gate',
    description: 'Waits until the test opens it',
    input: z.object({}),
    async run(_, { signal }) {
      const changes = watch(folder, { signal });
      while (!existsSync(file('open'))) await once(changes, 'change', { signal });
      changes.close();
      return 'open';
    },
  }),
  tool({
    name: 'hang',
    description: 'Waits for its signal, and leaves word that it came',
    input: z.object({}),
    async run(_, { signal }) {
      signal.addEventListener('abort', () => writeFileSync(file('aborted'), ''));
      writeFileSync(file('hanging'), '');
      await once(signal, 'abort');
    },
  }),
  tool({
    name: 'ask_city',
    description: 'Asks for a city',
    input: z.object({}),
    run: (_, ctx) =>
      ctx.answer?.value ?? ctx.ask({ text: 'Which city?', options: ['Rome', 'Oslo'] }),
  }),
];

function inner(): Agent {
  const scripts = JSON.parse(extra) as Record<'left' | 'right', ScriptedResponse[]>;
  const subAgents = (['left', 'right'] as const).map((name) =>
    llmAgent({ name, description: name, tools, model: scriptedModel(scripts[name]) }),
  );
  return parallelAgent({ name: 'inner', description: 'Two at once', subAgents });
}

function outer(): Agent {
  const local = customAgent({ name: 'local' }, async function* (ctx) {
    yield `Passing on: ${ctx.input.parts.map((part) => ('text' in part ? part.text : '')).join('')}`;
  });
  const remote = remoteAgent({ name: 'remote', description: 'The other process', url: extra });
  return sequentialAgent({ name: 'outer', description: 'Both', subAgents: [local, remote] });
}

const agent = role === 'inner' ? inner() : outer();
const sessions = sqliteSessions(file(`${role}-sessions.db`));
const server = serve(toA2AAgent(agent, { sessions }), {
  store: sqliteStore(file(`${role}-tasks.db`)),
});
const { url } = await server.listen(Number(port));
process.stdout.write(`${JSON.stringify({ url })}\n`);
