/** An MCP server of the official SDK whose tools ask for something while they run. */
import { setTimeout } from 'node:timers/promises';
import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

const FORM = {
  type: 'object' as const,
  properties: {
    name: { type: 'string' as const, title: 'Name', minLength: 2 },
    age: { type: 'integer' as const, minimum: 1, maximum: 120 },
    color: { type: 'string' as const, enum: ['red', 'blue'], default: 'red' },
  },
  required: ['name', 'age'],
};
const CHOICE = {
  type: 'object' as const,
  properties: {
    branch: {
      type: 'string' as const,
      oneOf: [
        { const: 'm', title: 'main' },
        { const: 'd', title: 'develop' },
      ],
    },
  },
  required: ['branch'],
};

const said = (value: unknown) => ({
  content: [{ type: 'text' as const, text: JSON.stringify(value) }],
});

/** `note` hears what happens in the tools. */
export function createAskingServer(note: (line: string) => void = () => {}): McpServer {
  const server = new McpServer({ name: 'asker', version: '1.0.0' });
  server.registerTool('form', { description: 'Asks for three fields' }, async ({ mcpReq }) => {
    mcpReq.signal.addEventListener('abort', () => note('form cancelled'), { once: true });
    return said(await mcpReq.elicitInput({ message: 'Who are you?', requestedSchema: FORM }));
  });
  // This request is sent in the response to the call. The others are sent on the stream of the session.
  server.registerTool('choice', { description: 'Asks for a branch' }, async ({ mcpReq }) => {
    const params = { message: 'Which branch?', requestedSchema: CHOICE };
    return said(await mcpReq.send({ method: 'elicitation/create', params }));
  });
  server.registerTool(
    'page',
    { inputSchema: z.object({ url: z.string() }) },
    async ({ url }, { mcpReq }) =>
      said(
        await mcpReq.elicitInput({ mode: 'url', message: 'Log in', url, elicitationId: 'page-1' }),
      ),
  );
  server.registerTool(
    'samples',
    { inputSchema: z.object({ times: z.number().default(1) }) },
    async ({ times }, { mcpReq }) => {
      const answers: unknown[] = [];
      for (let count = 0; count < times; count++) {
        const request = {
          messages: [{ role: 'user' as const, content: { type: 'text' as const, text: 'Hello?' } }],
          systemPrompt: 'Be short.',
          maxTokens: 100_000,
        };
        const answer = mcpReq.requestSampling(request);
        answers.push(await answer.catch((error: unknown) => String(error)));
      }
      return said(answers);
    },
  );
  server.registerTool('steps', { description: 'Takes 600 ms' }, async ({ mcpReq }) => {
    const { progressToken = 'none' } = mcpReq._meta ?? {};
    for (let progress = 1; progress <= 6; progress++) {
      await setTimeout(100);
      const params = { progressToken, progress };
      await mcpReq.notify({ method: 'notifications/progress', params });
    }
    return said('after 600 ms');
  });
  server.registerTool('roots', { description: 'Lists the roots' }, async ({ mcpReq }) =>
    said(await mcpReq.send({ method: 'roots/list' })),
  );
  return server;
}
