/**
 * Skills: folders with instructions for a kind of work, which the model reads when it needs them.
 *
 *   ~/.config/parley/skills/release/SKILL.md
 *   WORKSPACE/.parley/skills/release/SKILL.md       (only when the workspace is trusted)
 *
 * The header of SKILL.md has a `name` and a `description`. The model gets only these, until it calls the tool `skill`
 * (skill-tool.ts). Other fields of the header are ignored, because skills of other products have them.
 */
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { cutText, oneLine } from '../../base/index.ts';
import { FileError } from '../files/file-error.ts';
import { parseFrontMatter } from '../files/front-matter.ts';
import { OWN_NAME, readOwnFiles, type OwnFile, type OwnPlace } from '../files/own-files.ts';
import { isInside } from '../files/path-rules.ts';

export interface Skill {
  readonly name: string;
  readonly description: string;
  /** The real path of the skill's folder. */
  readonly folder: string;
}

export interface Skills {
  /** The skills by name. */
  readonly skills: ReadonlyMap<string, Skill>;
  /** One line for each skill that was ignored, with the reason. */
  readonly problems: readonly string[];
}

export const SKILL_FILE = 'SKILL.md';
const FILES = { folder: 'skills', what: 'skill', depth: 2, only: SKILL_FILE, max: 100 } as const;
const MAX_DESCRIPTION = 1000;

export async function loadSkills(place: OwnPlace): Promise<Skills> {
  const { found, problems } = await readOwnFiles(place, FILES, parseSkill);
  return { skills: new Map([...found.values()].map((each) => [each.name, each])), problems };
}

async function parseSkill({ names, file, path: real, text }: OwnFile): Promise<Skill> {
  const { fields } = parseFrontMatter(text);
  const refuse = (problem: string): never => {
    throw new FileError('failed', `${file}: ${problem}`);
  };
  const folder = await realpath(path.dirname(file));
  // The tool `skill` reads only files in the folder of the skill. So SKILL.md must not be a link to a file outside this
  // folder.
  if (!isInside(folder, real)) refuse('the file is a link to a file in another folder');
  const name = fields.get('name')?.text || (names[0] ?? '');
  if (!OWN_NAME.test(name))
    refuse(
      'name: use up to 64 letters, digits, "_", "." and "-", and begin with a letter or a digit',
    );
  const description = cutText(oneLine(fields.get('description')?.text ?? ''), MAX_DESCRIPTION);
  if (description === '') refuse('description is missing: say when the skill is useful');
  return { name, description, folder };
}

/** Returns the list of skills for the system instruction, or undefined if there are no skills. */
export function skillsText(skills: Skills['skills']): string | undefined {
  if (skills.size === 0) return undefined;
  const lines = [...skills.values()].map(({ name, description }) => `- ${name}: ${description}`);
  return `# Skills\n\nInstructions for some kinds of work. Before you do such work, read them with the tool skill.\n\n${lines.join('\n')}`;
}
