/** Libraries that use a model through the gateway: LangChain and OpenAI Agents. */
import { NOTE, tryModels, type Place } from './gateway-models.ts';
import { importFrom, programs } from './programs.ts';

const TOOL = { name: 'read_note', description: 'Reads the note', args: {} };
const QUESTION = 'What does the note say about the weather?';

interface LangChain {
  readonly ChatOpenAI: new (options: object) => {
    bindTools(tools: readonly object[]): LangChainModel;
  };
}

interface LangChainModel {
  stream(messages: readonly unknown[]): Promise<AsyncIterable<LangChainMessage>>;
}

interface LangChainMessage {
  readonly text: string;
  readonly tool_calls?: readonly { readonly id?: string; readonly name: string }[];
  concat(next: LangChainMessage): LangChainMessage;
}

async function answerOf(model: LangChainModel, messages: readonly unknown[]) {
  let whole: LangChainMessage | undefined;
  for await (const chunk of await model.stream(messages)) whole = whole?.concat(chunk) ?? chunk;
  if (!whole) throw new Error('LangChain got no answer');
  return whole;
}

for (const useResponsesApi of [false, true]) {
  tryModels({
    name: `@langchain/openai 1.6.0 (${useResponsesApi ? 'responses' : 'chat completions'})`,
    keepsThoughts: useResponsesApi,
    call: () => TOOL,
    async run({ url, key, model }) {
      const { ChatOpenAI } = await importFrom<LangChain>(programs.langChain, '@langchain/openai');
      const chat = new ChatOpenAI({
        model,
        useResponsesApi,
        apiKey: key,
        maxRetries: 0,
        configuration: { baseURL: `${url}/v1` },
      }).bindTools([
        {
          type: 'function',
          function: {
            name: TOOL.name,
            description: TOOL.description,
            parameters: { type: 'object', properties: {} },
          },
        },
      ]);
      const question = { role: 'user', content: QUESTION };
      const asked = await answerOf(chat, [question]);
      const results = (asked.tool_calls ?? []).map(({ id }) => ({
        role: 'tool',
        tool_call_id: id,
        content: NOTE,
      }));
      return (await answerOf(chat, [question, asked, ...results])).text;
    },
  });
}

interface OpenAIAgents {
  readonly Agent: new (options: object) => object;
  readonly Runner: new (options: object) => {
    run(agent: object, input: string): Promise<{ readonly finalOutput?: unknown }>;
  };
  readonly OpenAIProvider: new (options: object) => object;
  readonly tool: (options: object) => object;
}

async function runAgents({ url, key, model }: Place, useResponses: boolean): Promise<string> {
  const { Agent, Runner, OpenAIProvider, tool } = await importFrom<OpenAIAgents>(
    programs.openaiAgents,
    '@openai/agents',
  );
  const { z } = await importFrom<typeof import('zod')>(programs.openaiAgents, 'zod');
  const { name, description } = TOOL;
  const reads = tool({ name, description, parameters: z.object({}), execute: () => NOTE });
  const modelProvider = new OpenAIProvider({ apiKey: key, baseURL: `${url}/v1`, useResponses });
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  const agent = new Agent({ name: 'reader', instructions: 'Be brief.', model, tools: [reads] });
  const { finalOutput } = await runner.run(agent, QUESTION);
  return String(finalOutput);
}

for (const useResponses of [false, true]) {
  tryModels({
    name: `@openai/agents 0.20.0 (${useResponses ? 'responses' : 'chat completions'})`,
    keepsThoughts: useResponses,
    call: () => TOOL,
    run: (place) => runAgents(place, useResponses),
  });
}
