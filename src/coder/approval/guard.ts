/**
 * A tool behind the policy: what is allowed is done, what is denied is not, and about the rest a person is asked.
 *
 * What a person has allowed "always" is a rule in the session's state, so that it holds in every process that goes on
 * with the session.
 */
import type { JsonObject } from '../../base/index.ts';
import * as z from 'zod';
import type { Answer, MutableState, Tool, ToolContext } from '../../agent/index.ts';
import { grantFrom, type Asked } from './options.ts';
import { chosenOption, detailFor } from './confirmations.ts';
import type { Ledger } from './ledger.ts';
import { decide, rulesFrom, type Policy } from './policy.ts';
import { ApprovalMode, PolicyRule } from './rule.ts';
import type { CoderTool } from '../tools/tool.ts';

export interface Modes {
  /** What a session begins with. */
  readonly mode: ApprovalMode;
  /** The loosest that it may choose instead. */
  readonly loosest: ApprovalMode;
}

export interface GuardOptions extends Modes {
  /** The workspace's root. */
  readonly root: string;
  readonly rules: readonly PolicyRule[];
  /** Keeps a rule for later sessions. */
  saveRule(rule: PolicyRule): Promise<void>;
  /** Of all sessions in the workspace. */
  readonly ledger: Ledger;
  /** The true path of what a tool's `path` names. */
  truePath(path: string): Promise<string | undefined>;
  /** Before a call that may change files. What it throws stops the call. */
  beforeChange(label: string, context: ToolContext): Promise<void>;
}

/** The session's mode, where it differs from the one it began with. */
export const MODE_KEY = 'coder.approval';
/** The strictest first. */
const BY_STRICTNESS: readonly ApprovalMode[] = ['plan', 'ask', 'auto-edit', 'yolo'];
const GRANTS_KEY = 'coder.grants';
const MAX_GRANTS = 500;
const Grants = z.array(PolicyRule);

/** What a call that has begun shows first. */
export const BEGUN: JsonObject = { begun: true };

export function guarded(tool: CoderTool, options: GuardOptions): Tool {
  const askedOf = (args: JsonObject, preview: Asked['preview']): Asked => ({
    tool,
    args,
    preview,
    root: options.root,
  });

  return {
    name: tool.name,
    description: tool.description,
    parameters: tool.parameters,
    ...(tool.parse && { parse: (args: JsonObject) => tool.parse!(args) }),
    ...(tool.longRunning !== undefined && { longRunning: tool.longRunning }),

    async confirm(args, context) {
      const preview = await tool.preview(args, context);
      const { decision, reason } = decide(policyOf(options, context.state), tool, args, preview);
      if (decision === 'deny') throw new Error(`not allowed: ${reason}`);
      if (decision === 'allow') return false;
      const asked = askedOf(args, preview);
      return { text: tool.describe(args), detail: detailFor(asked) };
    },

    async run(args, context) {
      const { confirmation } = context;
      const { ledger } = options;
      const actor = { session: context.session.id, runId: context.runId };
      if (confirmation) await grant(args, confirmation, context);
      if (tool.effect === 'edit' || tool.effect === 'execute') {
        await options.beforeChange(tool.describe(args), context);
      }
      context.progress(BEGUN);
      const work = async (): Promise<unknown> => tool.run(args, context);
      if (tool.effect === 'edit') return ledger.change(actor, await changedBy(args, context), work);
      const began = ledger.now();
      const result = await work();
      if (tool.effect === 'read' && typeof args['path'] === 'string') {
        const file = await options.truePath(args['path']);
        if (file !== undefined) ledger.saw(actor, file, began);
      }
      return result;
    },
  };

  /** The files that a call would change, by their true paths. */
  async function changedBy(args: JsonObject, context: ToolContext): Promise<string[]> {
    const preview = await tool.preview(args, context);
    const paths = preview.kind === 'edit' ? preview.diffs.map(({ file_path }) => file_path) : [];
    return Promise.all(paths.map(async (path) => (await options.truePath(path)) ?? path));
  }

  async function grant(
    args: JsonObject,
    confirmation: Answer,
    context: ToolContext,
  ): Promise<void> {
    const option = chosenOption(confirmation);
    if (option === undefined || !option.startsWith('proceed_always')) return;
    const asked = askedOf(args, await tool.preview(args, context));
    const rules = grantFrom(option, asked);
    if (rules.length === 0) return;
    const known = grantsIn(context.state);
    context.state.set(GRANTS_KEY, [...known, ...rules].slice(-MAX_GRANTS));
    if (option === 'proceed_always_and_save')
      for (const rule of rules) await options.saveRule({ ...rule, workspace: options.root });
  }
}

function policyOf(options: GuardOptions, state: MutableState): Policy {
  return {
    root: options.root,
    mode: modeOf(options, (key) => state.get(key)),
    rules: rulesFrom(options.rules, grantsIn(state)),
  };
}

export function mayChoose({ mode, loosest }: Modes, wanted: ApprovalMode): boolean {
  return wanted === mode || BY_STRICTNESS.indexOf(wanted) <= BY_STRICTNESS.indexOf(loosest);
}

/** The mode of the session with this state. What it chose where it might choose more does not count here. */
export function modeOf(modes: Modes, read: (key: string) => unknown): ApprovalMode {
  const chosen = ApprovalMode.safeParse(read(MODE_KEY)).data;
  return chosen !== undefined && mayChoose(modes, chosen) ? chosen : modes.mode;
}

function grantsIn(state: MutableState): readonly PolicyRule[] {
  const grants = Grants.safeParse(state.get(GRANTS_KEY));
  return grants.success ? grants.data : [];
}
