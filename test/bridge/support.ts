/** Agents of the framework behind a real server, and clients of it across a real port. */
import type { TestContext } from 'node:test';
import { toA2AAgent, type A2AAgentOptions } from '../../src/bridge/a2a-agent.ts';
import type { Agent } from '../../src/agent/agent.ts';
import type { Content } from '../../src/agent/content.ts';
import type { Model, ModelChunk, ModelRequest } from '../../src/agent/model.ts';
import type { Tool } from '../../src/agent/tool.ts';
import { connect, type ConnectOptions, type RemoteAgentClient } from '../../src/client/index.ts';
import { type Artifact, type Part, type Task, textOf } from '../../src/protocol/index.ts';
import { serve, type ServeOptions } from '../../src/server.ts';
import { type Logged, recorder } from '../rules/support.ts';

export interface Bridged {
  readonly url: string;
  readonly log: Logged[];
  readonly client: (options?: ConnectOptions) => Promise<RemoteAgentClient>;
  readonly close: () => Promise<void>;
}

/** Serves the agent on a free port until the test ends. */
export async function bridge(
  t: TestContext,
  agent: Agent,
  options: A2AAgentOptions = {},
  serving: ServeOptions = {},
): Promise<Bridged> {
  const logger = recorder();
  const limits = { graceMs: 2000, ...serving.limits };
  const server = serve(toA2AAgent(agent, options), { logger, ...serving, limits });
  const listening = await server.listen(0);
  const { url } = listening;
  const close = () => listening.close(0);
  t.after(close);
  return {
    url,
    log: logger.entries,
    close,
    async client(more = {}) {
      // In 0.3, the result of message/send has the final answer in its status.
      const client = await connect(url, { version: '0.3', ...more });
      t.after(() => client[Symbol.asyncDispose]());
      return client;
    },
  };
}

/** Sends a message and waits for the task to settle. */
export async function send(
  client: RemoteAgentClient,
  said: string | Part[],
  to: { readonly taskId?: string; readonly contextId?: string } = {},
): Promise<Task> {
  const result = await client.send(said, to);
  if (result.kind !== 'task') throw new Error('there is no task');
  return result;
}

export const data = (value: object): Part => ({ kind: 'data', data: value });

export function statusText(task: Task): string {
  return textOf(task.status.message?.parts ?? []);
}

/** The texts of the answers, one for each time that an agent spoke. */
export function answers(task: Task): string[] {
  return (task.artifacts ?? []).filter(isResponse).map(({ parts }) => textOf(parts));
}

export function isResponse({ artifactId }: Artifact): boolean {
  return artifactId.startsWith('response-');
}

/** A model that is a function of the conversation: any number of runs can share it. */
export function modelOf(answer: (request: ModelRequest) => ModelChunk[]): Model {
  return {
    name: 'test',
    async *generate(request, signal) {
      for (const chunk of answer(request)) {
        await new Promise((resolve) => setImmediate(resolve));
        signal.throwIfAborted();
        yield chunk;
      }
      yield { kind: 'finish', reason: 'stop' };
    },
  };
}

/** What was said last by whoever is not the model. */
export function lastOf({ messages }: ModelRequest): Content['parts'] {
  return messages.at(-1)?.parts ?? [];
}

export function toolOf(name: string, more: Partial<Tool> & Pick<Tool, 'run'>): Tool {
  return { name, description: `Does ${name}`, parameters: { type: 'object' }, ...more };
}
