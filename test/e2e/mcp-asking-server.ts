/** An MCP server of the official SDK whose tools ask for something while they run. */
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
  server.registerTool('choice', { description: 'Asks for a branch' }, async ({ mcpReq }) =>
    said(await mcpReq.elicitInput({ message: 'Which branch?', requestedSchema: CHOICE })),
  );
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
  server.registerTool('roots', { description: 'Lists the roots' }, async ({ mcpReq }) =>
    said(await mcpReq.send({ method: 'roots/list' })),
  );
  return server;
}
