/**
 * A tool of the coding agent. It is a tool of the framework that can also describe what a call would do. The policy and
 * the people who approve the call use this description.
 */
import { isObject, type MaybePromise, type JsonObject } from '../../base/index.ts';
import type { Answer, Tool, ToolContext } from '../../agent/index.ts';
import type { FileDiff, ToolOutput } from '../../protocol/development-tool/index.ts';

/** The effect of a tool. It determines in which approval modes a call needs approval. */
export type Effect = 'read' | 'edit' | 'execute' | 'network' | 'memory' | 'talk';

/**
 * A description of what a call would do. The kinds match the details of a confirmation request in the development-tool
 * extension.
 */
export type Preview =
  | { readonly kind: 'execute'; readonly command: string; readonly workingDirectory: string }
  /**
   * A change with one diff per file. `fingerprint` is a hash of the old files and of their modes before and after the
   * change. The value of the person's answer contains the fingerprint too. `modifiable` is true if a person may replace
   * the new content. This is possible if there is only one file and its new content is shown completely.
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
  /** For a tool of an MCP server: `SERVER__TOOL`, with the names as the settings and the server write them. */
  readonly fullName?: string;
  readonly effect: Effect;
  /**
   * Returns the absolute paths of the files that the call changes. If this function is missing, a sequential call may
   * change any file. Throws if the arguments are invalid.
   */
  files?(args: JsonObject): readonly string[];
  /** Whether a call first asks the person a question, and continues after the answer. */
  readonly asks?: boolean;
  /** Describes a call in one line for people, for example `Write src/a.ts`. */
  describe(args: JsonObject): string;
  /**
   * Describes what the call would do, without doing it. If an error of `run` can already be detected, throws the same
   * error. If the preview of an edit is `modifiable`, a person may answer with other content. `run` reads this content
   * with `newContentOf(context.confirmation)`.
   */
  preview(args: JsonObject, context: ToolContext): MaybePromise<Preview>;
  /**
   * Returns the environment in which the call can run without approval, because it only reads files of the workspace
   * for which `shows` returns true. If `shows` is undefined, all files of the workspace may be read. Returns undefined
   * if the call needs approval. Must not throw if the arguments are valid.
   */
  readOnly?(args: JsonObject, shows: Shows | undefined): Promise<ReadOnlyEnvironment | undefined>;
  /**
   * Runs the call. `preview` is the preview of this call, if there was one. With the preview, `run` does not have to
   * plan the change again. A tool that lists or searches files leaves out each file for which `shows` returns false.
   * `environment` is the result of `readOnly`, if the call runs without approval because it only reads.
   */
  run(
    args: JsonObject,
    context: ToolContext,
    preview?: Preview,
    shows?: Shows,
    environment?: ReadOnlyEnvironment,
  ): MaybePromise<unknown>;
}

/**
 * Returns the names by which settings may refer to a tool: its name and, for a tool of an MCP server, also `fullName`.
 */
export function toolNames(tool: Tool): readonly string[] {
  return 'fullName' in tool && typeof tool.fullName === 'string'
    ? [tool.name, tool.fullName]
    : [tool.name];
}

/** Returns whether the policy allows a result to contain the file or folder with this real path. */
export type Shows = (file: string) => boolean;

/** The environment variables of a command that runs without approval, because it only reads. */
export type ReadOnlyEnvironment = Readonly<Record<string, string>>;

/**
 * The last line of a result if a rule of the policy protects files from being read. It is added even if no file was
 * left out.
 */
export const LEFT_OUT = '[files that a rule protects are left out]';

/** The output of a successful call that people see. It is the `display` of a response. */
export type Display = ToolOutput;

/** Returns the content with which a person replaced the proposed content, or undefined if it was not replaced. */
export function newContentOf(answer: Answer | undefined): string | undefined {
  return textIn(answer, 'new_content');
}

/**
 * Returns the fingerprint of the preview that the person saw, or undefined if there is none. `run` fails if the files
 * have changed since the preview.
 */
export function fingerprintOf(answer: Answer | undefined): string | undefined {
  return textIn(answer, 'fingerprint');
}

function textIn(answer: Answer | undefined, key: string): string | undefined {
  const value = answer?.value;
  const found = isObject(value) ? value[key] : undefined;
  return typeof found === 'string' ? found : undefined;
}
