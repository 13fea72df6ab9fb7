/** A context for tools that are run without an agent. */
import { memoryArtifacts } from '../../src/agent/artifacts/memory.ts';
import { memorySessions } from '../../src/agent/sessions/memory.ts';
import { Waiting, type ToolContext } from '../../src/agent/tool.ts';

export function toolContext(fields: Partial<ToolContext> = {}): ToolContext {
  const session = { app: 'app', user: 'alice', id: 's' };
  const artifacts = memoryArtifacts();
  const state = new Map<string, ReturnType<ToolContext['state']['get']>>();
  return {
    callId: 'call',
    runId: 'run',
    agent: 'agent',
    session,
    state: {
      get: (key) => state.get(key),
      set: (key, value) => void (value === null ? state.delete(key) : state.set(key, value)),
    },
    artifacts: {
      save: (name, content) => artifacts.save(session, name, content),
      load: (name, version) => artifacts.load(session, name, version),
      list: () => artifacts.list(session),
    },
    signal: new AbortController().signal,
    history: [],
    answer: undefined,
    progress: () => {},
    ask: (question) => new Waiting({ id: 'call', agent: 'agent', kind: 'input', ...question }),
    transferTo: () => {},
    escalate: () => {},
    services: { sessions: memorySessions(), defaultModel: undefined },
    ...fields,
  };
}
