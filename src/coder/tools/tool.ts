/**
 * A tool of the coding agent: a tool of the framework that can also describe what a call would do, for the policy and for
 * people.
 */
import type { MaybePromise, JsonObject } from '../../base/index.ts';
import type { Answer, Tool, ToolContext } from '../../agent/index.ts';
import type { FileDiff, ToolOutput } from '../../protocol/development-tool/index.ts';

/** The effect of a tool. The approval modes are defined by effects. */
export type Effect = 'read' | 'edit' | 'execute' | 'network' | 'memory' | 'talk';

/** What a call would do. The kinds match the details of a confirmation in the development-tool extension. */
export type Preview =
  | { readonly kind: 'execute'; readonly command: string; readonly workingDirectory: string }
  /**
   * One diff per file. `fingerprint` is a hash of the old files, and comes back in the answer's value. `modifiable`: there
   * is one file and its new content is complete, so a person may replace it.
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
  /** `preview` is the preview of this call, if there was one, so that `run` does not plan the change again. */
  run(args: JsonObject, context: ToolContext, preview?: Preview): MaybePromise<unknown>;
}

/** What people see of a successful call: the `display` of a response. */
export type Display = ToolOutput;

/** The content with which a person replaced the proposed content. */
export function newContentOf(answer: Answer | undefined): string | undefined {
  return textIn(answer, 'new_content');
}

/** The fingerprint of the preview that the person saw. `run` fails if the files have changed since. */
export function fingerprintOf(answer: Answer | undefined): string | undefined {
  return textIn(answer, 'fingerprint');
}

function textIn(answer: Answer | undefined, key: string): string | undefined {
  const value = answer?.value;
  if (typeof value !== 'object' || value === null || !(key in value)) return undefined;
  const found: unknown = Reflect.get(value, key);
  return typeof found === 'string' ? found : undefined;
}
