/**
 * The capabilities that an editor offers to the agent, in addition to prompts and answers: its text buffers, which may
 * have unsaved changes, and its terminals. They are used only in turns that this editor has started, and only while
 * it is connected.
 *
 * If a method fails, it rejects with an EditorError. All methods except `exit` have a timeout. An editor that does not
 * answer in time is not used for the rest of the turn.
 */
export interface Editor {
  /** Whether the editor is connected and answers. */
  readonly available: boolean;
  readonly files?: EditorFiles | undefined;
  readonly terminals?: EditorTerminals | undefined;
}

/** The text files of an editor. Paths are absolute. */
export interface EditorFiles {
  read(path: string): Promise<string>;
  /** Absent if the editor offers only reading. */
  write?(path: string, text: string): Promise<void>;
}

export interface EditorTerminals {
  /** Starts a program in a new terminal, and shows the terminal in the tool call. */
  create(program: TerminalProgram): Promise<EditorTerminal>;
}

export interface TerminalProgram {
  /** The id of the tool call that the program runs for. */
  readonly callId: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** Variables in addition to the variables of the editor. */
  readonly environment: Readonly<Record<string, string>>;
  /** Maximum size of the output. If the output is longer, its start is dropped. */
  readonly outputBytes: number;
}

export interface EditorTerminal {
  output(): Promise<{ readonly text: string; readonly truncated: boolean }>;
  /** Waits until the program has ended. */
  exit(
    signal: AbortSignal,
  ): Promise<{ readonly code: number | null; readonly signal: string | null }>;
  kill(): Promise<void>;
  /** Ends the program if it still runs, and frees the terminal. The editor may continue to show the output. */
  release(): Promise<void>;
}

/**
 * The error of a failed request to an editor. `refused`: the editor has answered with an error, or its answer is not
 * usable. `gone`: the editor has not answered, so it may or may not have executed the request.
 */
export class EditorError extends Error {
  override readonly name = 'EditorError';
  readonly kind: 'refused' | 'gone';

  constructor(kind: EditorError['kind'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}
