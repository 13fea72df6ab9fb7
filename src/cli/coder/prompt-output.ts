/**
 * What `parley -p` prints. The answer goes to standard output; how it comes about goes to standard error, and only
 * where somebody watches.
 */
import type { ToolCall } from '../../protocol/development-tool/index.ts';
import { codecOf, type StreamEvent } from '../../protocol/index.ts';
import { createCallLines } from '../remote/development-events.ts';
import { usageError } from '../program/exit.ts';
import type { TurnListener } from './prompt-turn.ts';
import { note, sayJson, shown, word } from '../program/terminal.ts';

const FORMATS = ['text', 'json', 'stream-json'] as const;
export type OutputFormat = (typeof FORMATS)[number];

/** What `--output json` prints. */
export interface PromptResult {
  readonly sessionId: string;
  readonly taskId: string;
  readonly state: string;
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number };
}

export interface PromptPrinter extends Omit<TurnListener, 'denied'> {
  end(result: PromptResult): void;
}

export function outputFormat(text: string | undefined): OutputFormat {
  const format = FORMATS.find((each) => each === (text ?? 'text'));
  if (format === undefined) throw usageError(`--output ${text}: use one of ${FORMATS.join(', ')}`);
  return format;
}

export function createPromptPrinter(format: OutputFormat): PromptPrinter {
  const watched = process.stderr.isTTY;
  const answer = format === 'text' ? answerPrinter() : undefined;
  const lineOf = createCallLines();

  function progress(line: string): void {
    if (!watched) return;
    // On a terminal both streams are one.
    if (process.stdout.isTTY) answer?.breakLine();
    note(line);
  }

  return {
    event(event: StreamEvent): void {
      // The events of the extension are written as version 0.3 has them.
      if (format === 'stream-json') sayJson(codecOf('0.3', 'JSONRPC').encodeEvent(event));
    },
    text(text): void {
      answer?.write(text);
    },
    thought(subject): void {
      if (subject !== '') progress(`… ${word(subject)}`);
    },
    call(call): void {
      const line = lineOf(call);
      if (line === undefined) return;
      answer?.breakLine();
      progress(line);
    },
    end(result): void {
      if (format !== 'text') sayJson(result);
      else answer?.end(result);
    },
  };
}

function answerPrinter() {
  let any = false;
  let midLine = false;
  function write(text: string): void {
    if (text === '') return;
    any = true;
    midLine = !text.endsWith('\n');
    process.stdout.write(shown(text));
  }
  function breakLine(): void {
    if (midLine) process.stdout.write('\n');
    midLine = false;
  }
  return {
    write,
    breakLine,
    end({ text, state }: PromptResult): void {
      if (!any && state === 'completed') write(text);
      breakLine();
    },
  };
}
