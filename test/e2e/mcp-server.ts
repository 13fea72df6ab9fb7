// An MCP server of the official SDK, for the tests of toolsets. Run as a program it speaks over stdio, and says on stderr
// what happens to it.
import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

/** `note` hears what happens in the tools. */
export function createMcpServer(note: (line: string) => void): McpServer {
  const server = new McpServer({ name: 'tester', version: '1.0.0' });

  server.registerTool(
    'add',
    {
      description: 'Adds two numbers',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
      annotations: { readOnlyHint: true },
    },
    ({ a, b }) => ({
      content: [{ type: 'text', text: JSON.stringify({ sum: a + b }) }],
      structuredContent: { sum: a + b },
    }),
  );
  server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, ({ text }) => ({
    content: [{ type: 'text', text }],
  }));
  server.registerTool('picture', { description: 'A picture' }, () => ({
    content: [
      { type: 'text', text: 'a dot' },
      { type: 'image', mimeType: 'image/png', data: 'iVBORw0KGgo=' },
      { type: 'resource', resource: { uri: 'test://notes', text: 'some notes' } },
      { type: 'resource_link', uri: 'https://a.example/file.pdf', name: 'file.pdf' },
    ],
  }));
  server.registerResource('notes', 'test://notes', { title: 'Notes' }, () => ({
    contents: [{ uri: 'test://notes', text: 'some notes' }],
  }));
  server.registerTool('fails', { description: 'Always fails' }, () => ({
    isError: true,
    content: [{ type: 'text', text: 'the disk is on fire' }],
  }));
  server.registerTool(
    'counts',
    { inputSchema: z.object({ steps: z.number() }) },
    async ({ steps }, ctx) => {
      const { progressToken = 'none' } = ctx.mcpReq._meta ?? {};
      for (let progress = 1; progress <= steps; progress++) {
        await ctx.mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken, progress, total: steps, message: `step ${progress}` },
        });
      }
      // A client that reads the result together with the last notification passes that over.
      await ctx.mcpReq.send({ method: 'ping' });
      return { content: [{ type: 'text', text: 'counted' }] };
    },
  );
  server.registerTool('waits', { description: 'Waits until it is cancelled' }, async (ctx) => {
    note('waiting');
    const { signal } = ctx.mcpReq;
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    note('cancelled');
    return { content: [] };
  });
  const said = (text: string) => ({
    messages: [{ role: 'user' as const, content: { type: 'text' as const, text } }],
  });
  const argsSchema = z.object({ name: z.string() });
  server.registerPrompt('greet', { description: 'Greets', argsSchema }, ({ name }) =>
    said(`Greet ${name}.`),
  );
  server.registerTool('grows', { description: 'Adds a tool and a prompt to the server' }, () => {
    server.registerTool('grown', { description: 'New' }, () => ({ content: [] }));
    server.registerPrompt('grown', { description: 'New' }, () => said('Grow!'));
    return { content: [{ type: 'text', text: 'grown' }] };
  });
  server.registerTool('environment', { description: 'Its variables' }, () => ({
    content: [{ type: 'text', text: JSON.stringify(process.env) }],
  }));
  server.registerTool('dies', { description: 'Ends the program' }, () => process.exit(3));
  for (const name of ['odd.name', 'odd_name']) {
    server.registerTool(name, { description: name }, () => ({
      content: [{ type: 'text', text: name }],
    }));
  }
  return server;
}

if (import.meta.main) {
  const note = (line: string) => process.stderr.write(`${line}\n`);
  note(`pid ${process.pid}`);
  await createMcpServer(note).connect(new StdioServerTransport());
}
