/** Options of the terminal UI. */
import type { Attention, StyledLine } from '../../display/index.ts';
import type { OwnerNotices } from '../../live/client/index.ts';
import type { PickerItem } from '../input/picker.ts';

export interface PromptHistory {
  /** Earlier prompts, oldest first. */
  readonly entries: readonly string[];
  /** Called with each text that the person sends, such as a prompt. Must not throw. */
  add(prompt: string): void;
}

export interface TuiOptions {
  /** `dark`, `light` or `none`. If NO_COLOR is set or TERM is `dumb`, the theme is always `none`. */
  readonly theme?: string | undefined;
  /** Whether to print line by line without redrawing, for screen readers. */
  readonly plain?: boolean | undefined;
  /** Opens a text in the person's editor. Resolves to undefined if the editor failed or the text was not changed. */
  readonly editor?: ((text: string, fileName: string) => Promise<string | undefined>) | undefined;
  readonly history?: PromptHistory | undefined;
  /** Lists the paths that complete the text typed after `@`. Folders end with a slash. */
  readonly files?: ((prefix: string) => Promise<readonly string[]>) | undefined;
  /**
   * Runs a command in the person's own shell. Only the terminal in the process of the agent can do this. `problem` is
   * the reason why the command was stopped, if it did not end by itself. Rejects if the command cannot be run.
   */
  readonly shell?:
    | ((
        command: string,
        options: {
          readonly signal: AbortSignal;
          /** Called with the end of the output so far. */
          readonly onOutput: (recent: string) => void;
        },
      ) => Promise<{
        readonly output: string;
        readonly code: number | null;
        readonly problem?: string | undefined;
      }>)
    | undefined;
  /** The checkpoints of the workspace, newest first, and the changes that restoring one of them makes. */
  readonly checkpoints?:
    | {
        readonly list: () => Promise<readonly PickerItem[]>;
        readonly changes: (id: string) => Promise<readonly StyledLine[]>;
      }
    | undefined;
  readonly stdin?: NodeJS.ReadStream | undefined;
  readonly stdout?: NodeJS.WriteStream | undefined;
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
  /** The port where other clients can join. May be a getter that returns undefined at first. */
  readonly a2aPort?: number | undefined;
  /** The URL of the session, if it runs in another process. */
  readonly attachedTo?: string | undefined;
  /**
   * Returns the reason for a failure by its correlation id. Only the terminal in the process of the agent has this
   * function. Other clients show the text that the agent sends.
   */
  readonly causeOf?: ((correlationId: string) => string | undefined) | undefined;
  /** Notices for the person who runs the agent. Only the terminal in the process of the agent gets them. */
  readonly notices?: OwnerNotices | undefined;
  /**
   * Runs `/remote` with these words. Returns the text to show and, while the session is shared, the link for another
   * device. Only the terminal in the process of the agent can do this. Rejects with an error that the person can read.
   */
  readonly remote?:
    | ((words: readonly string[]) => Promise<{ readonly text: string; readonly url?: string }>)
    | undefined;
  /** A message to send at the start. */
  readonly prompt?: string | undefined;
  /** Whether to run `/remote` at the start. */
  readonly remoteAtStart?: boolean | undefined;
  /** How the person is told that a call waits or a turn has ended. By default, the person is not told. */
  readonly alerts?:
    | {
        /** When the terminal rings its bell and shows a notification. */
        readonly terminal: () => 'unfocused' | 'always' | 'off';
        /** Called whenever the person should be told, even if `terminal` returns `off`. Must not throw. */
        readonly told?: ((attention: Attention) => void) | undefined;
      }
    | undefined;
  /** Called when the person has left or the session has ended. */
  readonly onExit?: ((reason: ExitReason) => void) | undefined;
}

export type ExitReason = 'left' | 'ended';
