/** What whoever starts the terminal UI may hand to it. */
export interface PromptHistory {
  /** Earlier prompts, the oldest first. */
  readonly entries: readonly string[];
  /** Called with each prompt that is sent. Must not throw. */
  add(prompt: string): void;
}

export interface TuiOptions {
  /** `dark`, `light` or `none`; `none` also where NO_COLOR is set. */
  readonly theme?: string | undefined;
  /** Line by line, without frames and redrawing: for screen readers. */
  readonly plain?: boolean | undefined;
  /** Opens a text in the person's editor. Undefined when nothing was saved. */
  readonly editor?: ((text: string, fileName: string) => Promise<string | undefined>) | undefined;
  readonly history?: PromptHistory | undefined;
  /** The files whose paths begin so, for `@`; folders end in a slash. */
  readonly files?: ((prefix: string) => Promise<readonly string[]>) | undefined;
  readonly stdin?: NodeJS.ReadStream | undefined;
  readonly stdout?: NodeJS.WriteStream | undefined;
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
  /** Where others can join: `A2A :1234` in the status line. May be a getter, and known only later. */
  readonly a2aUrl?: string | undefined;
  /** The address of the session, where it is somebody else's. */
  readonly attachedTo?: string | undefined;
  /** The person has left, or the session is over. */
  readonly onExit?: ((reason: ExitReason) => void) | undefined;
}

export type ExitReason = 'left' | 'ended';
