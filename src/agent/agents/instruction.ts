/**
 * An agent's instruction: text with `{key}` for what the state has under that key, `{artifact.name}` for the text of
 * an artifact, `{key?}` for either where it may be missing, and `{{key}}` for the braces themselves.
 *
 * What is put in is not looked through again: a value cannot bring placeholders of its own.
 */
import type { MaybePromise } from '../../base/index.ts';
import type { Artifacts } from '../artifact.ts';
import { RunFailure } from '../errors.ts';
import type { HookContext } from '../plugin.ts';
import type { MutableState } from '../tool.ts';

/** Text with placeholders, or a function that makes the text; what a function returns is taken as it is. */
export type Instruction = string | ((context: HookContext) => MaybePromise<string>);

const PLACEHOLDER = /\{\{([^{}]*)\}\}|\{(artifact\.)?([A-Za-z_][\w:.-]*)(\?)?\}/g;

export async function resolveInstruction(
  instruction: Instruction,
  context: HookContext,
): Promise<string> {
  return typeof instruction === 'function'
    ? instruction(context)
    : fillIn(instruction, context.state, context.artifacts);
}

async function fillIn(text: string, state: MutableState, artifacts: Artifacts): Promise<string> {
  let filled = '';
  let end = 0;
  for (const match of text.matchAll(PLACEHOLDER)) {
    const [whole, literal, artifact, name = '', optional] = match;
    filled += text.slice(end, match.index);
    end = match.index + whole.length;
    if (literal !== undefined) {
      filled += `{${literal}}`;
      continue;
    }
    const value =
      artifact === undefined ? stateText(state, name) : await artifactText(artifacts, name);
    if (value === undefined && optional === undefined) throw missing(whole, name, artifact);
    filled += value ?? '';
  }
  return filled + text.slice(end);
}

function stateText(state: MutableState, key: string): string | undefined {
  const value = state.get(key);
  return value === undefined || typeof value === 'string' ? value : JSON.stringify(value);
}

async function artifactText(artifacts: Artifacts, name: string): Promise<string | undefined> {
  const content = await artifacts.load(name);
  if (content === undefined) return undefined;
  if (content.kind === 'text') return content.text;
  throw new RunFailure('instruction', `the artifact ${name} is no text, as the instruction needs`);
}

function missing(placeholder: string, name: string, artifact: string | undefined): RunFailure {
  const what = artifact === undefined ? `state has no ${name}` : `there is no artifact ${name}`;
  const optional = placeholder.replace('}', '?}');
  return new RunFailure(
    'instruction',
    `the instruction has ${placeholder}, and ${what}: set it, or write ${optional}`,
  );
}
