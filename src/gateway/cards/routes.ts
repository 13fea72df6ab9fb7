/** Model cards over HTTP, under `/a2a/model-cards`. */
import { A2AError } from '../../protocol/index.ts';
import { ifNoneMatch } from '../../http/index.ts';
import type { Caller } from '../api/caller.ts';
import { PageQuery } from '../api/page.ts';
import { defineRoute, type GatewayRoute, type RouteAnswer } from '../api/route.ts';
import { etagOf, type Cards } from './cards.ts';
import {
  CardInput,
  CardPage,
  CardQuery,
  CardVersion,
  CardVersionPage,
  ModelCard,
} from './schema.ts';

const CARDS = '/a2a/model-cards';
const CARD = `${CARDS}/{id}`;
const VERSIONS = `${CARD}/versions`;
const VERSION = `${VERSIONS}/{version}`;

const one = { description: 'The model card, with its ETag', schema: ModelCard };
const invalid = {
  description: 'A field or a parameter is not as it should be: the error names it',
};
const missing = { description: 'There is no such model card in the workspace' };
const taken = { description: 'The slug is taken, or the workspace is full' };
const stale = { description: 'If-Match names another version than the present one' };
const tooLarge = { description: 'The card is too large' };

export function cardRoutes({ cards }: { readonly cards: Cards }): readonly GatewayRoute[] {
  return [
    defineRoute({
      verb: 'GET',
      path: CARDS,
      scope: 'cards:read',
      summary: 'The model cards of the workspace',
      detail:
        'Filters are joined: a card is listed when all of them hold. Unknown parameters are passed over.',
      query: CardQuery,
      answers: {
        200: { description: 'A page, and the total of all pages', schema: CardPage },
        400: invalid,
        404: { description: 'workspace_id is not the caller’s own' },
      },
      handle: async ({ query, caller }) => {
        needOwn(caller, query.workspace_id);
        return { body: cards.list(caller.workspace, query) };
      },
    }),

    defineRoute({
      verb: 'POST',
      path: CARDS,
      scope: 'cards:write',
      summary: 'Make a model card',
      detail: 'Without a slug it gets one that is made from its name.',
      body: CardInput,
      answers: {
        201: { ...one, description: 'The model card; Location says where it is' },
        400: invalid,
        404: { description: 'workspaceId is not the caller’s own' },
        409: taken,
        413: tooLarge,
      },
      handle: async ({ body, caller }) => {
        needOwn(caller, body.workspaceId);
        const card = cards.create(caller, body);
        const { headers } = shown(card);
        return {
          status: 201,
          headers: { ...headers, location: `${CARDS}/${card.id}` },
          body: card,
        };
      },
    }),

    defineRoute({
      verb: 'GET',
      path: CARD,
      scope: 'cards:read',
      resource: 'card',
      summary: 'One model card',
      answers: { 200: one, 304: { description: 'If-None-Match names this version' }, 404: missing },
      handle: async ({ values, caller, ...request }) => {
        const card = cards.get(caller.workspace, value(values, 'id'));
        const answer = shown(card);
        if (!ifNoneMatch(request.header('if-none-match'), etagOf(card))) return answer;
        return { status: 304, headers: answer.headers };
      },
    }),

    defineRoute({
      verb: 'PUT',
      path: CARD,
      scope: 'cards:write',
      resource: 'card',
      summary: 'Replace a model card',
      detail:
        'Name, description and card are replaced; so is the slug, where one is given. With If-Match, only while the card is what the client has read.',
      body: CardInput,
      answers: { 200: one, 400: invalid, 404: missing, 409: taken, 412: stale, 413: tooLarge },
      handle: async ({ values, body, caller, ...request }) => {
        needOwn(caller, body.workspaceId);
        return shown(cards.update(caller, value(values, 'id'), body, request.header('if-match')));
      },
    }),

    defineRoute({
      verb: 'DELETE',
      path: CARD,
      scope: 'cards:write',
      resource: 'card',
      summary: 'Delete a model card',
      detail: 'Its slug is free again. Its versions stay, and restoring one brings the card back.',
      answers: { 204: { description: 'It is deleted' }, 404: missing, 412: stale },
      handle: async ({ values, caller, ...request }) => {
        cards.delete(caller, value(values, 'id'), request.header('if-match'));
        return { status: 204 };
      },
    }),

    defineRoute({
      verb: 'GET',
      path: VERSIONS,
      scope: 'cards:read',
      resource: 'card',
      summary: 'What a model card was, newest first',
      detail: 'Of a deleted card too.',
      query: PageQuery,
      answers: {
        200: { description: 'A page, and the total of all pages', schema: CardVersionPage },
        400: invalid,
        404: missing,
      },
      handle: async ({ values, query, caller }) => ({
        body: cards.versions(caller.workspace, value(values, 'id'), query),
      }),
    }),

    defineRoute({
      verb: 'GET',
      path: VERSION,
      scope: 'cards:read',
      resource: 'card',
      summary: 'One version of a model card',
      answers: { 200: { description: 'The version', schema: CardVersion }, 404: missing },
      handle: async ({ values, caller }) => ({
        body: cards.version(caller.workspace, value(values, 'id'), versionNumber(values)),
      }),
    }),

    defineRoute({
      verb: 'POST',
      path: `${VERSION}/restore`,
      scope: 'cards:write',
      resource: 'card',
      summary: 'Bring an old version of a model card back',
      detail: 'Makes a new version with the content of the old one. A deleted card is there again.',
      answers: { 200: one, 404: missing, 409: taken, 412: stale },
      handle: async ({ values, caller, ...request }) => {
        const version = versionNumber(values);
        return shown(
          cards.restore(caller, value(values, 'id'), version, request.header('if-match')),
        );
      },
    }),
  ];
}

function shown(card: ModelCard): RouteAnswer & { readonly headers: Record<string, string> } {
  return { headers: { etag: etagOf(card) }, body: card };
}

/** Another workspace does not exist for this caller. */
function needOwn(caller: Caller, workspace: string | undefined): void {
  if (workspace === undefined || workspace === caller.workspace) return;
  throw new A2AError(
    'notFound',
    `There is no such workspace: leave it out, or name this key's own, "${caller.workspace}"`,
  );
}

/** No number, no such version: 0 is none. */
function versionNumber(values: Readonly<Record<string, string>>): number {
  const text = value(values, 'version');
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 0;
}

/** The router gives every parameter of the path. */
function value(values: Readonly<Record<string, string>>, name: string): string {
  return values[name] ?? '';
}
