/**
 * The common part of write_file, edit and apply_patch: planning changes, showing them in a preview, and applying them.
 *
 * A change that a person approved is applied exactly as it was shown, or not at all. The only exception is content that
 * the person has replaced. The preview contains a fingerprint, which is a hash of the old files and of the file modes
 * before and after the change. The person's answer contains the fingerprint too. An approved call fails if a file has
 * changed since the preview. A call that needed no approval is planned again in this case.
 */
import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { RichResponse, type ToolContext } from '../../agent/index.ts';
import { FileError } from '../files/file-error.ts';
import { fileDiff, isShownWhole } from '../files/show-diff.ts';
import { decodeText, encodeText, toCrlf, usesCrlf } from '../files/text.ts';
import { modesOf } from '../files/write.ts';
import type { FileDiff } from '../../protocol/development-tool/index.ts';
import { fingerprintOf, newContentOf, type CoderTool, type Display, type Preview } from './tool.ts';
import type { Change, Snapshot, Workspace } from '../files/workspace.ts';
import { defineTool, type ToolDefinition, type ViewOf } from './define-tool.ts';

/**
 * A plan is kept in memory between the preview and the run only if its old and new content together have at most this
 * many bytes.
 */
const MAX_KEPT_BYTES = 2 ** 20;

/** The changes of one call. */
export interface Plan {
  readonly changes: readonly Change[];
  /** The old paths of moved files, by their new paths. */
  readonly moves?: ReadonlyMap<string, string>;
  /** The response for the model. */
  readonly summary: string;
}

interface FileChangeDefinition<Input extends z.ZodObject> extends Pick<
  ToolDefinition<Input>,
  'name' | 'description' | 'input' | 'describe'
> {
  /** Returns the paths of the files that the call changes. */
  readonly paths: (args: z.output<Input>) => readonly string[];
  /**
   * Plans the changes. `files` is the workspace as the editor shows it. If there is no editor, it is the workspace on
   * disk.
   */
  readonly plan: (args: z.output<Input>, files: Workspace) => Promise<Plan>;
}

export function fileChangeTool<Input extends z.ZodObject>(
  workspace: Workspace,
  viewOf: ViewOf = () => workspace,
  { paths, plan, ...definition }: FileChangeDefinition<Input>,
): CoderTool {
  /** The plan that each preview was made from. */
  const plans = new WeakMap<Preview, Plan>();

  async function prepare(args: z.output<Input>, files: Workspace): Promise<Plan> {
    for (const path of paths(args)) await workspace.checkWritable(path);
    return plan(args, files);
  }
  return defineTool({
    ...definition,
    effect: 'edit',
    files: (args) => paths(args).map((path) => workspace.locate(path)),
    async preview(args, context) {
      const planned = await prepare(args, viewOf(context));
      const diffs = diffsOf(planned, workspace);
      const preview: Preview = {
        kind: 'edit',
        diffs,
        fingerprint: fingerprint(planned.changes, workspace),
        modifiable: diffs.length === 1 && planned.changes.some(isShownWhole),
      };
      // A large plan is not kept in memory. It is made again when its call runs.
      if (sizeOf(planned) <= MAX_KEPT_BYTES) plans.set(preview, planned);
      return preview;
    },
    async run(args, context, preview) {
      return workspace.exclusively(paths(args), async () => {
        const files = viewOf(context);
        const shown = preview && plans.get(preview);
        const current = shown && (await stillFits(shown, files));
        const planned = asAnswered(current ?? (await prepare(args, files)), context, workspace);
        const { signal } = context;
        signal.throwIfAborted();
        const differing = await files.apply(planned.changes, { signal });
        return new RichResponse(planned.summary + noteOn(differing), {
          display: displayOf(planned, workspace),
        });
      });
    },
  });
}

/** Returns a note about files whose content on disk differs from their new content in the editor. */
function noteOn(differing: readonly string[]): string {
  if (differing.length === 0) return '';
  return ` The editor has the new content, but ${differing.join(', ')} on disk differs: the editor has not saved it, or has formatted it. Commands and searches use the file on disk.`;
}

/** Returns the total size of the old and new files. */
function sizeOf({ changes }: Plan): number {
  return changes.reduce(
    (size, { before, after }) => size + (before?.bytes.length ?? 0) + (after?.length ?? 0),
    0,
  );
}

/** Returns the plan with the current state of its files, or undefined if a file has changed since the plan was made. */
async function stillFits(plan: Plan, workspace: Workspace): Promise<Plan | undefined> {
  const changes: Change[] = [];
  for (const change of plan.changes) {
    const before = await workspace.read(change.path);
    if (!sameContent(before, change.before)) return undefined;
    changes.push({ ...change, before });
  }
  return { ...plan, changes };
}

function sameContent(one: Snapshot | undefined, other: Snapshot | undefined): boolean {
  if (!one || !other) return one === other;
  return one.stats.mode === other.stats.mode && one.bytes.equals(other.bytes);
}

/** Returns the plan with the person's modification. Throws if a file has changed since the person saw the preview. */
function asAnswered(
  planned: Plan,
  { confirmation: answer }: ToolContext,
  workspace: Workspace,
): Plan {
  const expected = fingerprintOf(answer);
  if (expected !== undefined && expected !== fingerprint(planned.changes, workspace)) {
    throw new FileError(
      'changed',
      `${planned.changes.map(({ path }) => workspace.show(path)).join(', ')}: modified after the approval was requested, so nothing was written; read the file again and repeat the change`,
    );
  }
  const content = newContentOf(answer);
  if (content === undefined) return planned;
  const [only, ...others] = planned.changes.filter(({ after }) => after !== undefined);
  if (only === undefined || others.length > 0) {
    throw new FileError('failed', 'only a change of a single file can be modified');
  }
  return {
    ...planned,
    changes: planned.changes.map((change) =>
      change === only ? { ...change, after: contentLike(change.before, content, '') } : change,
    ),
    summary: `${planned.summary} The user modified the proposed content: read the file before you continue.`,
  };
}

function fingerprint(changes: readonly Change[], workspace: Workspace): string {
  const hash = createHash('sha256');
  for (const change of changes) {
    const { path, before } = change;
    const content =
      before === undefined ? 'absent' : createHash('sha256').update(before.bytes).digest('hex');
    const { old, next } = modesOf(change);
    hash.update(`${JSON.stringify(workspace.locate(path))} ${content} ${old} ${next}\n`);
  }
  return hash.digest('hex');
}

/** Returns a diff for each changed file. A moved file has one diff, from the old path to the new path. */
function diffsOf({ changes, moves }: Plan, workspace: Workspace): FileDiff[] {
  const show = (path: string): string => workspace.show(path);
  /** The changes that remove the old path of a moved file. The diff of the moved file contains this removal. */
  const covered = new Set<Change>();
  const sources = changes.map(({ path, before, after }) => {
    // If a moved file replaces another file, its diff shows the change from the replaced content.
    if (before !== undefined || after === undefined) return undefined;
    const source = changes.find((other) => other.path === moves?.get(path));
    if (source && source.after === undefined) covered.add(source);
    return source;
  });
  return changes.flatMap((change, at) => {
    if (covered.has(change)) return [];
    const source = sources[at];
    return [fileDiff({ ...change, before: source?.before ?? change.before }, show, source?.path)];
  });
}

function displayOf(planned: Plan, workspace: Workspace): Display {
  const diffs = diffsOf(planned, workspace);
  if (diffs.length === 1) return { diff: diffs[0]! };
  return { text: diffs.map(({ formatted_diff }) => formatted_diff).join('\n') };
}

/** Returns the new content with the line ends and the byte order mark of the old content. */
export function contentLike(before: Snapshot | undefined, content: string, shown: string): Buffer {
  if (before === undefined) return Buffer.from(content);
  try {
    const { text, bom } = decodeText(before.bytes, shown);
    return encodeText({ text: usesCrlf(text) ? toCrlf(content) : content, bom });
  } catch {
    // The old content is not text.
    return Buffer.from(content);
  }
}
