/**
 * Other makers' A2A clients in one shape, so that each scenario is written once. A driver uses the program as its
 * documentation says, and has no A2A code of its own.
 */
import { randomUUID } from 'node:crypto';
import { importFrom, programs } from './programs.ts';

/** What the user of a client sees of an answer. */
export interface Answer {
  readonly text: string;
  /** Whether the client knows that the agent waits for an answer. */
  readonly waits: boolean;
}

type Ask = (text: string) => Promise<Answer>;

/** The ways in which a program sends a text. */
export type Way = 'send' | 'stream';

export interface Conversation {
  readonly ask: Partial<Record<Way, Ask>>;
  /** Answers the agent's question. */
  readonly reply: Ask;
}

export interface Driver {
  readonly peer: string;
  readonly ways: readonly Way[];
  open(url: string): Promise<Conversation>;
}

const CARD = '/.well-known/agent-card.json';

interface AdkEvent {
  readonly partial?: boolean;
  readonly author?: string;
  readonly errorMessage?: string;
  readonly content?: { readonly parts?: readonly { readonly text?: string }[] };
}

interface Adk {
  readonly InMemoryRunner: new (options: { agent: object; appName: string }) => {
    runAsync(run: object): AsyncIterable<AdkEvent>;
    readonly sessionService: { createSession(options: object): Promise<{ readonly id: string }> };
  };
  readonly RemoteA2AAgent: new (options: object) => object;
}

const adk: Driver = {
  peer: '@google/adk 2.0.0',
  ways: ['stream'],
  async open(url) {
    const { InMemoryRunner, RemoteA2AAgent } = await importFrom<Adk>(programs.adk, '@google/adk');
    const agent = new RemoteA2AAgent({ name: 'remote', agentCard: url });
    const runner = new InMemoryRunner({ agent, appName: 'app' });
    const session = await runner.sessionService.createSession({ appName: 'app', userId: 'ann' });
    const stream = async (text: string): Promise<Answer> => {
      const newMessage = { role: 'user', parts: [{ text }] };
      const run = { userId: 'ann', sessionId: session.id, newMessage };
      let said = '';
      for await (const event of runner.runAsync(run)) {
        if (event.errorMessage !== undefined) throw new Error(event.errorMessage);
        // Partial events are for display. ADK repeats their text in an event that is not partial.
        if (event.partial === true) continue;
        for (const part of event.content?.parts ?? []) said += part.text ?? '';
      }
      return { text: said, waits: false };
    };
    // A person answers a question with the next message of the session.
    return { ask: { stream }, reply: stream };
  },
};

interface Mastra {
  readonly A2AAgent: new (options: { url: string }) => {
    generate(text: string, options: object): Promise<MastraResult>;
    resumeGenerate(data: unknown, options: object): Promise<MastraResult>;
    stream(text: string, options: object): Promise<MastraStream>;
  };
}

interface MastraResult {
  readonly text: string;
  readonly finishReason: string;
}

interface MastraStream {
  readonly fullStream: AsyncIterable<{
    readonly type: string;
    readonly payload: { readonly text?: string };
  }>;
  getResult(): Promise<MastraResult>;
}

const mastra: Driver = {
  peer: '@mastra/core 1.71.0',
  ways: ['send', 'stream'],
  async open(url) {
    const { A2AAgent } = await importFrom<Mastra>(programs.mastra, '@mastra/core/a2a');
    const agent = new A2AAgent({ url });
    const runId = randomUUID();
    const answer = ({ text, finishReason }: MastraResult): Answer => ({
      text,
      waits: finishReason === 'suspended',
    });
    const stream = async (text: string): Promise<Answer> => {
      const streamed = await agent.stream(text, { runId });
      let said = '';
      for await (const { type, payload } of streamed.fullStream) {
        if (type === 'text-delta') said += payload.text ?? '';
      }
      const result = await streamed.getResult();
      if (result.text !== said)
        throw new Error(`streamed ${said}, and the result is ${result.text}`);
      return answer(result);
    };
    return {
      ask: { send: async (text) => answer(await agent.generate(text, { runId })), stream },
      reply: async (text) => answer(await agent.resumeGenerate(text, { runId })),
    };
  },
};

interface AiSdk {
  generateText(options: object): Promise<{ readonly text: string }>;
  streamText(options: object): { readonly textStream: AsyncIterable<string> };
}

const aiSdk: Driver = {
  peer: 'a2a-ai-provider 0.5.0-alpha.1',
  ways: ['send', 'stream'],
  async open(url) {
    const ai = await importFrom<AiSdk>(programs.aiSdk, 'ai');
    const { a2a } = await importFrom<{ a2a: (card: string) => object }>(
      programs.aiSdk,
      'a2a-ai-provider',
    );
    const providerOptions = { a2a: { contextId: randomUUID() } };
    const options = (prompt: string) => ({ model: a2a(`${url}${CARD}`), prompt, providerOptions });
    const send = async (text: string): Promise<Answer> => {
      const result = await quietly(() => ai.generateText(options(text)));
      return { text: result.text, waits: false };
    };
    const stream = async (text: string): Promise<Answer> => {
      const { textStream } = ai.streamText(options(text));
      const said = await quietly(async () => {
        let all = '';
        for await (const piece of textStream) all += piece;
        return all;
      });
      return { text: said, waits: false };
    };
    // It knows no tasks: an answer is the next message of the context.
    return { ask: { send, stream }, reply: send };
  },
};

/** The provider prints every event. */
async function quietly<T>(work: () => Promise<T>): Promise<T> {
  const { log } = console;
  console.log = () => {};
  try {
    return await work();
  } finally {
    console.log = log;
  }
}

interface AgUiEvent {
  readonly type: string;
  readonly delta?: string;
  readonly message?: string;
  readonly event?: {
    readonly kind?: string;
    readonly artifact?: { readonly parts: readonly { readonly text?: string }[] };
  };
}

interface AgUi {
  readonly A2AAgent: new (options: { a2aClient: object }) => {
    run(input: object): { subscribe(observer: object): void };
  };
}

const agUi: Driver = {
  peer: '@ag-ui/a2a 0.0.6',
  ways: ['stream'],
  async open(url) {
    const { A2AAgent } = await importFrom<AgUi>(programs.agUi, '@ag-ui/a2a');
    const { A2AClient } = await importFrom<{ A2AClient: new (url: string) => object }>(
      programs.agUi,
      '@a2a-js/sdk/client',
    );
    const agent = new A2AAgent({ a2aClient: new A2AClient(url) });
    const threadId = randomUUID();
    const stream = async (text: string): Promise<Answer> => {
      const messages = [{ id: randomUUID(), role: 'user', content: text }];
      const input = { threadId, runId: randomUUID(), messages, tools: [], context: [], state: {} };
      let said = '';
      await new Promise<void>((complete, error) => {
        const next = (event: AgUiEvent): void => {
          said += event.delta ?? '';
          // Artifacts reach the user's program as they came.
          if (event.event?.kind === 'artifact-update')
            said += event.event.artifact?.parts.map((part) => part.text ?? '').join('') ?? '';
        };
        agent.run(input).subscribe({ next, complete, error });
      });
      return { text: said, waits: false };
    };
    return { ask: { stream }, reply: stream };
  },
};

export const drivers: readonly Driver[] = [adk, mastra, aiSdk, agUi];
