/**
 * An agent's instruction is a text with placeholders. `{key}` is replaced with a value of the state, and
 * `{artifact.name}` with the text of an artifact. A missing value is an error. With a question mark, as in `{key?}` and
 * `{artifact.name?}`, a missing value is an empty text instead. `{{key}}` stands for the literal text `{key}`.
 *
 * Inserted values are not searched for placeholders.
 */
import type { MaybePromise } from '../../base/index.ts';
import type { Artifacts } from '../artifact.ts';
import { RunFailure } from '../errors.ts';
import type { HookContext } from '../plugin.ts';
import type { MutableState } from '../tool.ts';

/** Text with placeholders, or a function that returns the text. Placeholders in a returned text are not replaced. */
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
  throw new RunFailure(
    'instruction',
    `the instruction uses the artifact ${name}, which is not text`,
  );
}

function missing(placeholder: string, name: string, artifact: string | undefined): RunFailure {
  const what = artifact === undefined ? `the state has no ${name}` : `there is no artifact ${name}`;
  const optional = placeholder.replace('}', '?}');
  return new RunFailure(
    'instruction',
    `the instruction uses ${placeholder}, but ${what}: set it, or write ${optional}`,
  );
}
