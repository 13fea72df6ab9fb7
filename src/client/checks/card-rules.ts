/** Checks the card itself, without a request to the agent. */
import { hostNameOf, isObject, isThisMachine } from '../../base/index.ts';
import type { AgentCard, AgentInterface } from '../../protocol/index.ts';
import { type FoundCard, isGrpc } from '../connection/discover.ts';
import { type AgentCheck, doubtful, fine, wrong } from './check.ts';

/** The required fields that a card may omit if they are empty, as ProtoJSON does. The codec adds them. */
const REQUIRED = [
  'description',
  'version',
  'capabilities',
  'defaultInputModes',
  'defaultOutputModes',
  'skills',
];

/** Maximum number of interfaces that are checked. A card can list thousands, and each check sends a request. */
export const MAX_CHECKED = 64;

/** Checks a card. `raw` is the card as it was sent. */
export function checkCard(found: FoundCard, raw: unknown): AgentCheck[] {
  const { card, url } = found;
  return [
    fine('card', `found at ${url}; valid`),
    ...checkPath(url),
    ...checkFields(raw),
    checkSkills(card),
    ...checkModes(card, raw),
    ...checkSchemes(card),
    ...card.supportedInterfaces.slice(0, MAX_CHECKED).flatMap((offer) => checkAddress(offer, url)),
  ];
}

function checkPath(url: string): AgentCheck[] {
  if (!new URL(url).pathname.endsWith('/.well-known/agent.json')) return [];
  return [doubtful('path', 'the card is only at /.well-known/agent.json', 'old-path')];
}

function checkFields(raw: unknown): AgentCheck[] {
  const missing = REQUIRED.filter((name) => !isObject(raw) || raw[name] == null);
  if (missing.length === 0) return [];
  return [doubtful('fields', `missing: ${missing.join(', ')}`, 'missing-fields')];
}

function checkSkills({ skills }: AgentCard): AgentCheck {
  const seen = new Set<string>();
  const twice = skills.find(({ id }) => seen.size === seen.add(id).size)?.id;
  if (twice !== undefined) {
    return wrong('skills', `the id "${twice}" occurs twice`, 'skill-ids');
  }
  if (skills.length === 0) {
    return doubtful('skills', 'none: clients cannot tell what the agent does', 'no-skills');
  }
  return fine('skills', skills.map(({ name }) => name).join(', '));
}

function checkModes(card: AgentCard, raw: unknown): AgentCheck[] {
  return (['defaultInputModes', 'defaultOutputModes'] as const).flatMap((name) => {
    const given = isObject(raw) && raw[name] != null;
    if (!given || card[name].length > 0) return [];
    return [doubtful('modes', `${name} is empty`, 'no-modes')];
  });
}

function checkSchemes({ security = [], securitySchemes = {}, skills }: AgentCard): AgentCheck[] {
  const required = [...security, ...skills.flatMap((skill) => skill.security ?? [])];
  const names = new Set(required.flatMap((requirement) => Object.keys(requirement)));
  return [...names]
    .filter((name) => !Object.hasOwn(securitySchemes, name))
    .map((name) =>
      wrong('security schemes', `"${name}" is required, but not described`, 'unknown-scheme'),
    );
}

/** Returns the name of an interface in the results of checks. */
export function nameOfInterface({ protocolVersion, protocolBinding }: AgentInterface): string {
  return `${protocolVersion} ${protocolBinding}`;
}

/** Checks the address of an interface. Does not check gRPC addresses, which usually have no scheme. */
function checkAddress(offer: AgentInterface, cardUrl: string): AgentCheck[] {
  if (isGrpc(offer)) return [];
  const name = nameOfInterface(offer);
  const base = new URL(cardUrl);
  const target = URL.parse(offer.url, base.href);
  if (!target || !/^https?:$/.test(target.protocol)) {
    const what = `"${offer.url}" is not an http address`;
    return [wrong(name, what, 'bad-address')];
  }
  if (target.username !== '' || target.password !== '') {
    const what = `the address of ${target.host} contains credentials`;
    return [wrong(name, what, 'bad-address')];
  }
  if (!URL.canParse(offer.url)) {
    // This client resolves a relative address against the address of the card. Most other clients do not.
    const what = `"${offer.url}" is a relative address`;
    return [doubtful(name, what, 'bad-address')];
  }
  const local = isThisMachine(hostNameOf(target));
  if (local && !isThisMachine(hostNameOf(base))) {
    const why = `${offer.url} is an address of this machine, but the card came from ${base.host}`;
    return [wrong(name, why, 'own-machine')];
  }
  if (target.protocol === 'https:' || local) return [];
  const what = `${offer.url} is not encrypted`;
  return base.protocol === 'https:'
    ? [wrong(name, `${what}, but the card came over https`, 'plain-http')]
    : [doubtful(name, what, 'plain-http')];
}
