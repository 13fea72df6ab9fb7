/**
 * Commands that the person runs in their own shell with `!`. A command needs no approval, because the person typed it
 * at this terminal. Its output is shown here, and the model gets it with the next prompt.
 */
import { OWN_COMMAND } from '../../display/index.ts';
import type { ToolCall } from '../../protocol/development-tool/index.ts';
import type { Part } from '../../protocol/index.ts';
import type { Ui } from '../view/ui.ts';
import type { TuiOptions } from './options.ts';

export interface PersonShellOptions {
  readonly shell: TuiOptions['shell'];
  /** Called when the command starts or prints something, and with undefined when it has ended. */
  readonly running: (command: Ui['command']) => void;
  /** Called with the finished command. */
  readonly ended: (call: ToolCall) => void;
}

/** Maximum number of outputs that the next prompt contains. Older outputs are dropped. */
const MAX_OUTPUTS = 8;

const ONLY_HERE = 'Only the terminal that runs the session can run commands with !.';

export class PersonShell {
  readonly #options: PersonShellOptions;
  #current: AbortController | undefined;
  #outputs: Part[] = [];
  #ended = 0;

  constructor(options: PersonShellOptions) {
    this.#options = options;
  }

  /** Runs a command. Rejects with an error whose message is meant for the person. */
  async run(command: string): Promise<void> {
    const { shell, running, ended } = this.#options;
    if (!shell) throw new Error(ONLY_HERE);
    if (command === '') throw new Error('Write a command after the !, for example !git status.');
    if (this.#current)
      throw new Error('A command is still running. Wait until it has ended, or stop it.');
    const current = new AbortController();
    this.#current = current;
    const since = Date.now();
    running({ command, output: '', since });
    try {
      const { output, code, problem } = await shell(command, {
        signal: current.signal,
        onOutput: (recent) => running({ command, output: recent, since }),
      });
      const failed = problem ?? (code === 0 ? undefined : `exit code ${code}`);
      this.#outputs.push(outputPart(command, output, failed));
      this.#outputs = this.#outputs.slice(-MAX_OUTPUTS);
      ended(callOf(`own-${++this.#ended}`, command, output, failed));
    } finally {
      this.#current = undefined;
      running(undefined);
    }
  }

  /** Stops the running command. Returns whether a command was running. */
  stop(): boolean {
    this.#current?.abort();
    return this.#current !== undefined;
  }

  /** Returns the prompt, with the outputs since the last prompt. */
  prompt(text: string): string | readonly Part[] {
    if (this.#outputs.length === 0) return text;
    return [{ kind: 'text', text }, ...this.#outputs.splice(0)];
  }
}

function outputPart(command: string, output: string, failed: string | undefined): Part {
  const end = failed === undefined ? '' : `\n[${failed}]`;
  const text = `The person ran this command in their own shell:\n$ ${command}\n${output}${end}\n`;
  const name = `output of ! ${command.length > 60 ? `${command.slice(0, 59)}…` : command}`;
  const bytes = Buffer.from(text).toString('base64');
  return { kind: 'file', file: { name, mimeType: 'text/plain', bytes } };
}

function callOf(id: string, command: string, output: string, failed: string | undefined): ToolCall {
  return {
    tool_call_id: id,
    status: failed === undefined ? 'SUCCEEDED' : 'FAILED',
    tool_name: OWN_COMMAND,
    description: `! ${command}`,
    input_parameters: { command },
    ...(failed === undefined
      ? { output: { text: output } }
      : { error: { type: 'exit_code', message: `${failed}\n${output}` } }),
  };
}
