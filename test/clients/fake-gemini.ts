/** A model behind the Gemini API of Google, whose answers the test gives: for programs that need a model of this vendor. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

export type GeminiPart =
  | { readonly text: string; readonly thought?: boolean }
  | { readonly functionCall: { readonly name: string; readonly args: object } };

interface GeminiContent {
  readonly parts?: readonly {
    readonly functionResponse?: { readonly response?: { readonly output?: string } };
  }[];
}

export interface ModelCall {
  /** The output of the tool that was called last, or undefined. */
  readonly output: string | undefined;
  answer(...parts: GeminiPart[]): void;
}

export interface FakeGemini {
  /** The environment of a program that uses this model. */
  readonly env: Readonly<Record<string, string>>;
  /** Waits for the next call of the model. It stays open until it is answered. */
  next(): Promise<ModelCall>;
}

/** Starts the model. It ends with the test. */
export async function startGemini(t: TestContext): Promise<FakeGemini> {
  const calls: ModelCall[] = [];
  let wake = (): void => {};
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { contents = [] } = JSON.parse(Buffer.concat(chunks).toString()) as {
        contents?: GeminiContent[];
      };
      const last = contents.at(-1)?.parts?.findLast(({ functionResponse }) => functionResponse);
      const output = last?.functionResponse?.response?.output;
      calls.push({ output, answer: (...parts) => answer(response, parts) });
      wake();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return {
    env: { GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1:${port}` },
    async next() {
      for (;;) {
        const call = calls.shift();
        if (call) return call;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
}

function answer(response: ServerResponse, parts: readonly GeminiPart[]): void {
  const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 3, totalTokenCount: 8 };
  const event = (part: GeminiPart, more: object = {}): string => {
    const candidates = [{ content: { role: 'model', parts: [part] }, index: 0, ...more }];
    return `data: ${JSON.stringify({ candidates, usageMetadata })}\r\n\r\n`;
  };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const part of parts) response.write(event(part));
  response.end(event({ text: '' }, { finishReason: 'STOP' }));
}
