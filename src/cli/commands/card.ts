/** `parley card`: shows and checks an agent's card. */
import type { FoundCard } from '../../client/index.ts';
import { declaredFeatures, describeSecurity } from '../../client/checks/index.ts';
import type { AgentCard } from '../../protocol/index.ts';
import { defineCommand } from '../program/command.ts';
import { CONNECTION_FLAGS, targetOf, discoverRaw } from '../remote/connection.ts';
import { EXIT, usageError } from '../program/exit.ts';
import { listOption, toggle } from '../program/flags.ts';
import { fields } from '../program/render.ts';
import { indented, bold, cyan, dim, say, sayJson, word } from '../program/terminal.ts';

export default defineCommand({
  operands: ['URL'],
  about: "Shows an agent's card: its addresses, skills, capabilities and security requirements.",
  flags: {
    verify: toggle(
      'Check the card and its signature, and check that the agent supports what the card declares.',
    ),
    'trust-key': listOption(
      'FILE',
      "With --verify, accept only signatures of the public keys in FILE (PEM, JWK or JWK set). By default, the keys that the agent's own server publishes are accepted.",
    ),
    ...CONNECTION_FLAGS,
    json: toggle('Print the card as JSON or, with --verify, the results of the checks.'),
  },
  examples: [
    'parley card http://127.0.0.1:41242',
    'parley card http://127.0.0.1:41242 --verify',
    'parley card https://agent.example --verify --trust-key agent.pem',
    'parley card http://127.0.0.1:41242 --json | jq .skills',
  ],

  async run(input) {
    const { values } = input;
    const target = targetOf(input);
    if (values.verify) {
      const { verify } = await import('../remote/verify.ts');
      return verify(target, values['trust-key'], values.json);
    }
    if (values['trust-key'].length > 0) {
      throw usageError('--trust-key needs --verify: add --verify');
    }
    const { raw, ...found } = await discoverRaw(target);
    if (values.json) sayJson(raw);
    else print(found);
    return EXIT.done;
  },
});

function print({ card, url }: FoundCard): void {
  say(`${bold(word(card.name))} ${dim(word(card.version))}`);
  if (card.description !== '') say(word(card.description));
  say();
  process.stdout.write(fields(facts(card, url)));
  section(
    'Interfaces',
    card.supportedInterfaces.map(({ protocolVersion, protocolBinding, url: at, tenant }) => [
      `${word(protocolVersion)} ${word(protocolBinding)}`,
      cyan(word(at)) + (tenant ? dim(` tenant ${word(tenant)}`) : ''),
    ]),
  );
  section(
    'Skills',
    card.skills.map(({ name, description, examples = [] }) => [
      word(name),
      word(description) + (examples[0] === undefined ? '' : dim(`  e.g. "${word(examples[0])}"`)),
    ]),
  );
  section(
    'Extensions',
    (card.capabilities.extensions ?? []).map(({ uri, required, description = '' }) => [
      required === true ? 'required' : 'optional',
      `${cyan(word(uri))}${description === '' ? '' : `  ${dim(word(description))}`}`,
    ]),
  );
}

function facts(card: AgentCard, url: string): [string, string][] {
  const { provider } = card;
  const can = declaredFeatures(card);
  const all: [string, string | undefined][] = [
    ['supports', can.join(', ') || 'no streaming, no push notifications'],
    ['input', card.defaultInputModes.map(word).join(', ')],
    ['output', card.defaultOutputModes.map(word).join(', ')],
    ['security', word(describeSecurity(card))],
    ['signature', card.signatures?.length ? 'signed (--verify checks it)' : 'unsigned'],
    ['provider', provider && `${word(provider.organization)} ${dim(word(provider.url))}`],
    ['documentation', card.documentationUrl && word(card.documentationUrl)],
    ['card', word(url)],
  ];
  return all.filter((fact): fact is [string, string] => Boolean(fact[1]));
}

function section(title: string, rows: readonly (readonly [string, string])[]): void {
  if (rows.length === 0) return;
  say();
  say(bold(title));
  for (const line of indented(rows)) say(line);
}
