/**
 * A tool of the coding agent: one of the framework's, that can also say beforehand what it would do, so that a policy
 * can decide and a person can see it.
 */
import type { MaybePromise, JsonObject } from '../../base/index.ts';
import type { Answer, Tool, ToolContext } from '../../agent/index.ts';
import type { FileDiff, ToolOutput } from '../../protocol/development-tool/index.ts';

/** What kind of thing a tool does. The modes of the policy are made of these. */
export type Effect = 'read' | 'edit' | 'execute' | 'network' | 'memory' | 'talk';

/** What a call would do. The four kinds are those of a confirmation's details in the development-tool extension. */
export type Preview =
  | { readonly kind: 'execute'; readonly command: string; readonly workingDirectory: string }
  /**
   * One entry per file. `fingerprint` says what the files were; it goes back in the answer's value. `modifiable`: the
   * whole new content of the only file is shown, so that a person can send another in its place.
   */
  | {
      readonly kind: 'edit';
      readonly diffs: readonly FileDiff[];
      readonly fingerprint?: string;
      readonly modifiable?: boolean;
    }
  | { readonly kind: 'mcp'; readonly server: string; readonly tool: string }
  | { readonly kind: 'generic'; readonly description: string };

export interface CoderTool extends Tool {
  readonly effect: Effect;
  /** One line for people: `Write src/a.ts`. */
  describe(args: JsonObject): string;
  /**
   * Says what the call would do, without doing it. Throws what `run` would throw if that is known beforehand. A person
   * may answer an `edit` of one file with other content: `run` reads it with `newContentOf(context.confirmation)`.
   */
  preview(args: JsonObject, context: ToolContext): MaybePromise<Preview>;
  /** `preview`: the one that was made of this call, so that `run` need not work it out again. */
  run(args: JsonObject, context: ToolContext, preview?: Preview): MaybePromise<unknown>;
}

/** What a call that succeeded has to show, as a response's `display`. */
export type Display = ToolOutput;

/** The content that a person put in the place of the proposed one. */
export function newContentOf(answer: Answer | undefined): string | undefined {
  return textIn(answer, 'new_content');
}

/** What the files were when the person was asked, as the preview said. `run` fails where they are otherwise by now. */
export function fingerprintOf(answer: Answer | undefined): string | undefined {
  return textIn(answer, 'fingerprint');
}

function textIn(answer: Answer | undefined, key: string): string | undefined {
  const value = answer?.value;
  if (typeof value !== 'object' || value === null || !(key in value)) return undefined;
  const found: unknown = Reflect.get(value, key);
  return typeof found === 'string' ? found : undefined;
}
