/**
 * Prints a turn as it happens. The answer goes to standard output. Thoughts and tool calls go to standard error as
 * remarks.
 */
import {
  isAwaitingAnswer,
  type Fact,
  type HelperMark,
  type ToolCall,
} from '../../protocol/development-tool/index.ts';
import { contentOf } from '../program/render.ts';
import { note, shown, word } from '../program/terminal.ts';

/**
 * Makes a printer. With `answer: false`, nothing is written to standard output. With `quiet`, nothing is written to
 * standard error.
 */
export function createFactPrinter({ answer = true, quiet = false } = {}) {
  const callLine = createCallLines();
  let any = false;
  let midLine = false;

  function write(text: string): void {
    if (text === '' || !answer) return;
    any = true;
    midLine = !text.endsWith('\n');
    process.stdout.write(text);
  }

  /** Ends an unfinished line on standard output. */
  function breakLine(): void {
    if (midLine) process.stdout.write('\n');
    midLine = false;
  }

  function remark(line: string): void {
    if (quiet) return;
    // On a terminal both streams share the screen, so a remark needs a line of its own.
    if (process.stdout.isTTY) breakLine();
    note(line);
  }

  return {
    /** Whether a part of the answer has been written. */
    get any(): boolean {
      return any;
    },
    write,
    breakLine,
    remark,
    print(fact: Fact): void {
      if (fact.kind === 'text') {
        write(shown(fact.text));
      } else if (fact.kind === 'file') {
        breakLine();
        write(contentOf([{ kind: 'file', file: fact.file }]));
      } else if (fact.kind === 'thought') {
        const subject = word(fact.thought.subject);
        // The first piece of a thought prints the subject. Pieces that continue the thought do not print it again.
        if (subject !== '' && fact.thought.continues !== true)
          remark(`… ${helperIn(fact.thought)}${subject}`);
      } else if (fact.kind === 'call') {
        const line = callLine(fact.call);
        if (line === undefined) return;
        breakLine();
        remark(line);
      }
    },
  };
}

/**
 * Returns a function that returns one line for each new status of a call, or undefined if there is nothing to print.
 */
function createCallLines(): (call: ToolCall) => string | undefined {
  const known = new Map<string, string>();
  return (call) => {
    const { tool_call_id: id, status, description, tool_name, error } = call;
    // A PENDING call may ask for an answer only after some time. So a call that asks has a state of its own here.
    const state = isAwaitingAnswer(call) ? 'asks' : status;
    if (known.get(id) === state) return undefined;
    known.set(id, state);
    const what = `${helperIn(call)}${word(description ?? tool_name)}`;
    switch (status) {
      case 'PENDING':
        return isAwaitingAnswer(call) ? `? ${what}` : undefined;
      case 'EXECUTING':
        return `· ${what}`;
      case 'SUCCEEDED':
        return `✓ ${what}`;
      case 'FAILED':
        return `✗ ${what}: ${word(firstLine(error?.message ?? 'failed'))}`;
      case 'CANCELLED':
        return `✗ ${what}: ${word(firstLine(error?.message ?? 'declined'))}`;
      default:
        return undefined;
    }
  };
}

/** Returns the first line of an error. The lines after it may be the output of a command. */
function firstLine(message: string): string {
  return message.split('\n', 1)[0]!;
}

/** Returns the prefix with the name of the helper that made a call or had a thought. Empty for the agent itself. */
function helperIn({ agent }: HelperMark): string {
  return agent === undefined ? '' : `${word(agent)} › `;
}
