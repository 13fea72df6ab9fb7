/**
 * Prints the output of `parley -p`. The answer goes to standard output. Progress goes to standard error, but only if
 * standard error is a terminal.
 */
import type { Fact, ToolCall } from '../../protocol/development-tool/index.ts';
import { codecOf, type StreamEvent } from '../../protocol/index.ts';
import { createFactPrinter } from '../remote/fact-printer.ts';
import { sayJson, shown } from '../program/terminal.ts';

/** The values of `--output`. */
export const FORMATS = ['text', 'json', 'stream-json'] as const;

/** The object that `--output json` prints. */
export interface PromptResult {
  readonly sessionId: string;
  readonly taskId: string;
  readonly state: string;
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number };
}

export function createPromptPrinter(format: (typeof FORMATS)[number]) {
  const printer = createFactPrinter({ answer: format === 'text', quiet: !process.stderr.isTTY });
  return {
    event(event: StreamEvent): void {
      // The extension's events are written in the wire format of A2A 0.3.
      if (format === 'stream-json') sayJson(codecOf('0.3', 'JSONRPC').encodeEvent(event));
    },
    fact: (fact: Fact) => printer.print(fact),
    end(result: PromptResult): void {
      if (format !== 'text') return sayJson(result);
      if (!printer.any && result.state === 'completed') printer.write(shown(result.text));
      printer.breakLine();
    },
  };
}
