/** A process of its own: serves an agent with a guarded tool, everything in the folder that it is given. */
import path from 'node:path';
import { appendFileSync } from 'node:fs';
import { llmAgent } from '../../src/agent/agents/llm.ts';
import { sqliteArtifacts, sqliteSessions } from '../../src/agent/sqlite/index.ts';
import { toA2AAgent } from '../../src/bridge/a2a-agent.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';
import { serve } from '../../src/server.ts';
import { lastOf, modelOf, toolOf } from './support.ts';

const folder = process.argv[2]!;
const file = (name: string) => path.join(folder, name);

const erase = toolOf('erase', {
  confirm: () => true,
  run(args) {
    appendFileSync(file('calls'), `${JSON.stringify(args)}\n`);
    return 'erased';
  },
});
const model = modelOf((request) => {
  const response = lastOf(request).find((part) => part.kind === 'function-response');
  if (response) return [{ kind: 'text', text: `Done: ${JSON.stringify(response.response)}` }];
  return [
    { kind: 'text', text: 'Let me see. ' },
    { kind: 'function-call', id: 'call', name: 'erase', args: { path: 'a.txt' } },
  ];
});
const agent = toA2AAgent(
  llmAgent({ name: 'eraser', description: 'Erases', model, tools: [erase] }),
  {
    sessions: sqliteSessions(file('sessions.db')),
    artifacts: sqliteArtifacts(file('artifacts.db')),
  },
);
const { url } = await serve(agent, { store: sqliteStore(file('tasks.db')) }).listen(0);
process.stdout.write(`${url}\n`);
