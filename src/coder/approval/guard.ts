/**
 * Applies the policy to a tool: an allowed call runs, a denied call fails, and any other call needs a person's
 * approval.
 */
import { BoundedMap, type JsonObject } from '../../base/index.ts';
import {
  ToolError,
  type MutableState,
  type Tool,
  type ToolConfirmation,
  type ToolContext,
} from '../../agent/index.ts';
import { grantFrom, saves, type CallToApprove } from './options.ts';
import { chosenOption } from './answers.ts';
import { noteAllowed } from './approvals.ts';
import { detailFor } from './confirmation-request.ts';
import type { FileChanges } from './file-changes.ts';
import { addGrants, grantsIn } from './grants.ts';
import {
  asksForCommands,
  asksToRead,
  decide,
  readFilter,
  READS_ONLY,
  resultFilter,
  rulesFrom,
  type Policy,
  type Verdict,
} from './policy.ts';
import { ApprovalMode, type PolicyRule } from './rule.ts';
import type { CoderTool, Preview, ReadOnlyEnvironment } from '../tools/tool.ts';

export interface Modes {
  /** The mode that a session starts with. */
  readonly mode: ApprovalMode;
  /** The most permissive mode that a session may select. A session may always select `mode`. */
  readonly loosest: ApprovalMode;
}

export interface GuardOptions extends Modes {
  /** The root folder of the workspace. */
  readonly root: string;
  /** The name of the main agent. All other agents are helpers. Default: there are no helpers. */
  readonly agent?: string;
  /** The rules of the settings. They may change while the agent runs. */
  readonly rules: readonly PolicyRule[];
  /** Saves a rule for later sessions. */
  saveRule(rule: PolicyRule): Promise<void>;
  /** The file changes of all sessions. */
  readonly changes: FileChanges;
  /** Returns the path with symbolic links resolved, or undefined if the file does not exist or cannot be accessed. */
  realPath(path: string): Promise<string | undefined>;
  /** Returns the files that a call changes, or undefined if the call may change any file. Must not throw. */
  filesOf(tool: string, args: JsonObject): readonly string[] | undefined;
  /** Called before a call that may change files. If the promise rejects, the call is not run. */
  beforeChange(label: string, context: ToolContext): Promise<void>;
}

/** The key of the selected mode in the session's state. */
export const MODE_KEY = 'coder.approval';
/** The modes, strictest first. */
const BY_STRICTNESS: readonly ApprovalMode[] = ['plan', 'ask', 'auto-edit', 'yolo'];
/**
 * Maximum number of calls in `allowed`, per tool. If there are more, the reasons of the oldest calls are not recorded.
 */
const MAX_ALLOWED = 256;
/** Maximum number of cached previews per tool. */
const MAX_PREVIEWS = 16;
/**
 * The fingerprint in the question about a change whose preview fails. Such a question cannot show the change. No file
 * has this fingerprint. So the change is not made after an approval, even if it would succeed by then.
 */
const NOT_SHOWN = 'not shown';

/** The progress report that marks the start of a call. */
export const BEGUN: JsonObject = { begun: true };

export function guarded(tool: CoderTool, options: GuardOptions): Tool {
  const { root, changes } = options;
  /**
   * The previews of calls that have not run yet. If a preview is missing, for example after a restart, it is created
   * again.
   */
  const previews = new BoundedMap<{ readonly args: string; readonly preview: Preview }>(
    MAX_PREVIEWS,
  );

  /**
   * The reasons why calls were allowed without approval. Contains only calls that have not run yet, and no calls of
   * tools with the effects `read` and `talk`.
   */
  const allowed = new BoundedMap<string>(MAX_ALLOWED);

  async function previewOf(args: JsonObject, context: ToolContext): Promise<Preview> {
    const key = previewKey(context);
    const known = previews.get(key);
    const given = JSON.stringify(args);
    if (known?.args === given) return known.preview;
    const preview = await tool.preview(args, context);
    previews.set(key, { args: given, preview });
    return preview;
  }

  return {
    ...tool,

    // The preview of an edit is made after all earlier calls that may change the same files have ended. So a person
    // sees the change that will be made.
    confirmsAfter(args, earlier) {
      if (tool.effect !== 'edit') return false;
      const changed = options.filesOf(earlier.name, earlier.args);
      const own = options.filesOf(tool.name, args);
      return !changed || !own || own.some((file) => changed.includes(file));
    },

    async confirm(args, context) {
      const key = previewKey(context);
      const policy = policyOf(options, context.state);
      const files = filesNamedIn(args);
      // A denied edit gets no preview, because an error of the preview may quote the file.
      if (files) refuse(decide(policy, tool, args, undefined, files));
      const protects = files !== undefined && asksToRead(policy, tool, args, files);
      const preview = await previewOf(args, context).catch((error: unknown) => {
        if (!protects || context.signal.aborted) throw error;
        return undefined;
      });
      if (!preview) {
        // The error of the preview may quote the files, so the model gets it only if a person agrees. Without the
        // question, the model could also find out the content of a file by trying edits.
        const description = `${tool.describe(args)}\nThis change fails. If you allow the call, nothing is changed, and the model gets the error, which may quote the file.`;
        return question(args, policy, { kind: 'generic', description }, files, NOT_SHOWN);
      }
      const { verdict } = await verdictOn(args, policy, preview, files);
      const { decision, reason } = refuse(verdict, key);
      if (decision === 'allow') {
        if (tool.effect !== 'read' && tool.effect !== 'talk') allowed.set(key, reason);
        return false;
      }
      return question(args, policy, preview, files);
    },

    async run(args, context) {
      const { user, id } = context.session;
      const actor = { session: JSON.stringify([user, id]), runId: context.runId };
      const option = chosenOption(context.confirmation);
      const grants = option?.startsWith('proceed_always') === true;
      const isEdit = tool.effect === 'edit';
      const preview = grants || isEdit ? await previewOf(args, context) : undefined;
      const key = previewKey(context);
      previews.delete(key);
      const reason = allowed.get(key);
      allowed.delete(key);
      if (reason !== undefined && !context.confirmation) {
        const { agent: main = context.agent } = options;
        const agent = context.agent === main ? undefined : context.agent;
        const what = { tool: tool.name, call: tool.describe(args), reason };
        noteAllowed({ state: context.state, callId: context.callId, agent }, what);
      }
      const environment = await readOnlyRun(args, context);
      if (grants && preview) {
        await grant(option, { tool, args, preview, root }, context.state);
      }
      if (isEdit || (tool.effect === 'execute' && !environment)) {
        await options.beforeChange(tool.describe(args), context);
      }
      if (tool.asks !== true || context.answer) context.progress(BEGUN);
      const answered = context.confirmation ? 'tool' : 'none';
      const shows = resultFilter(policyOf(options, context.state), tool, answered);
      const work = async (): Promise<unknown> =>
        tool.run(args, context, preview, shows, environment);
      if (isEdit) return changes.change(actor, await filesIn(preview), work);
      const began = changes.now();
      const result = await work();
      if (tool.effect === 'read' && typeof args['path'] === 'string') {
        const file = await options.realPath(args['path']);
        if (file !== undefined) changes.saw(actor, file, began);
      }
      return result;
    },
  };

  /** Returns the question about a call. An option that adds rules is offered only if these rules allow the call. */
  function question(
    args: JsonObject,
    policy: Policy,
    preview: Preview,
    files?: readonly string[],
    fingerprint?: string,
  ): ToolConfirmation {
    const detail = detailFor({ tool, args, preview, root }, fingerprint, (rules) => {
      const allowing = { ...policy, grants: [...policy.grants, ...rules] };
      return decide(allowing, tool, args, preview, files).decision === 'allow';
    });
    return { text: tool.describe(args), detail };
  }

  /**
   * Decides about a call. If the call needs no approval because it only reads, also returns the environment in which it
   * must run.
   */
  async function verdictOn(
    args: JsonObject,
    policy: Policy,
    preview: Preview | undefined,
    files?: readonly string[],
  ): Promise<{ readonly verdict: Verdict; readonly environment?: ReadOnlyEnvironment }> {
    const environment = asksForCommands(policy)
      ? await tool.readOnly?.(args, readFilter(policy))
      : undefined;
    const verdict = decide(policy, tool, args, preview, files, environment !== undefined);
    return verdict === READS_ONLY && environment ? { verdict, environment } : { verdict };
  }

  /**
   * Returns the environment for a call that runs without approval because it only reads, or undefined for any other
   * call. If the tool has `readOnly`, a call that was allowed without approval is checked again, because earlier calls
   * may have changed files or settings. Throws if the call is now denied or needs approval.
   */
  async function readOnlyRun(
    args: JsonObject,
    { state, confirmation }: ToolContext,
  ): Promise<ReadOnlyEnvironment | undefined> {
    if (!tool.readOnly || confirmation) return undefined;
    const { verdict, environment } = await verdictOn(args, policyOf(options, state), undefined);
    if (refuse(verdict).decision === 'allow') return environment;
    const message = `not run: ${verdict.reason}, although the call was allowed before; make the call again`;
    throw new ToolError('denied', message);
  }

  /** Returns the verdict if the call is not denied. If the call is denied, deletes its preview (`key`) and throws. */
  function refuse(verdict: Verdict, key?: string): Verdict {
    if (verdict.decision !== 'deny') return verdict;
    if (key !== undefined) previews.delete(key);
    throw new ToolError('denied', `not allowed: ${verdict.reason}`);
  }

  /**
   * Returns the files that an edit names. Returns undefined for other calls, for tools without `files`, and if the
   * arguments are invalid.
   */
  function filesNamedIn(args: JsonObject): readonly string[] | undefined {
    try {
      return tool.effect === 'edit' ? tool.files?.(args) : undefined;
    } catch {
      // The preview reports the error.
      return undefined;
    }
  }

  /**
   * Returns the real paths of the files in the preview of an edit. A file that does not exist yet keeps the path of the
   * preview. Returns an empty list for any other preview.
   */
  function filesIn(preview: Preview | undefined): Promise<string[]> {
    const diffs = preview?.kind === 'edit' ? preview.diffs : [];
    return Promise.all(
      diffs.map(async ({ file_path }) => (await options.realPath(file_path)) ?? file_path),
    );
  }

  async function grant(option: string, call: CallToApprove, state: MutableState): Promise<void> {
    const rules = grantFrom(option, call);
    if (rules.length === 0) return;
    if (!saves(option)) return addGrants(state, rules);
    // A saved rule applies at once in all sessions of this process. It is not added to the permissions of this session.
    // Otherwise, it would still apply in this session after a person has removed it from the saved rules.
    for (const rule of rules) await options.saveRule({ ...rule, workspace: root });
  }
}

function previewKey({ session, callId }: ToolContext): string {
  return JSON.stringify([session.user, session.id, callId]);
}

/** Returns the policy of a session with this state. */
export function policyOf(
  options: Pick<GuardOptions, 'root' | 'rules' | 'mode' | 'loosest'>,
  state: Pick<MutableState, 'get'>,
): Policy {
  return {
    root: options.root,
    mode: modeOf(options, (key) => state.get(key)),
    ...rulesFrom(options.rules, grantsIn(state)),
  };
}

export function mayChoose({ mode, loosest }: Modes, wanted: ApprovalMode): boolean {
  return wanted === mode || BY_STRICTNESS.indexOf(wanted) <= BY_STRICTNESS.indexOf(loosest);
}

/** Returns the mode of a session. A stored mode that this server does not allow is ignored. */
export function modeOf(modes: Modes, read: (key: string) => unknown): ApprovalMode {
  const chosen = ApprovalMode.safeParse(read(MODE_KEY)).data;
  return chosen !== undefined && mayChoose(modes, chosen) ? chosen : modes.mode;
}
