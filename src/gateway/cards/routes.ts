/** The HTTP routes of model cards, under `/a2a/model-cards`. */
import { A2AError } from '../../protocol/index.ts';
import { ifNoneMatch } from '../../http/index.ts';
import type { Caller } from '../api/caller.ts';
import { PageQuery } from '../api/fields.ts';
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
const page = { description: 'A page, with the total number of items on all pages' };
const taken = { description: 'The slug is in use, or the workspace has too many cards' };
const stale = { description: 'If-Match does not match the current version' };

export function cardRoutes({ cards }: { readonly cards: Cards }): readonly GatewayRoute[] {
  return [
    defineRoute({
      verb: 'GET',
      path: CARDS,
      scope: 'cards:read',
      summary: 'List the model cards of the workspace',
      detail: 'A card is listed if it matches all filters. Unknown parameters are ignored.',
      query: CardQuery,
      answers: {
        200: { ...page, schema: CardPage },
        404: { description: 'workspace_id is not the workspace of the caller' },
      },
      handle: async ({ query, caller }) => {
        needOwn(caller, query.workspace_id);
        return { body: await cards.list(caller.workspace, query) };
      },
    }),

    defineRoute({
      verb: 'POST',
      path: CARDS,
      scope: 'cards:write',
      summary: 'Create a model card',
      detail: 'If slug is missing, it is created from the name.',
      body: CardInput,
      answers: {
        201: { ...one, description: 'The model card. The Location header has its address' },
        404: { description: 'workspaceId is not the workspace of the caller' },
        409: taken,
      },
      handle: async ({ body, caller }) => {
        needOwn(caller, body.workspaceId);
        const card = await cards.create(caller, body);
        const headers = { etag: etagOf(card), location: `${CARDS}/${card.id}` };
        return { status: 201, headers, body: card };
      },
    }),

    defineRoute({
      verb: 'GET',
      path: CARD,
      scope: 'cards:read',
      resource: 'card',
      summary: 'Get a model card',
      answers: { 200: one, 304: { description: 'If-None-Match matches the current version' } },
      handle: async ({ values: { id = '' }, caller, ...request }) => {
        const card = await cards.get(caller.workspace, id);
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
        'Replaces name, description and card. Replaces the slug only if it is given. With If-Match, the request fails if the card has changed.',
      body: CardInput,
      answers: { 200: one, 409: taken, 412: stale },
      handle: async ({ values: { id = '' }, body, caller, ...request }) => {
        needOwn(caller, body.workspaceId);
        return shown(await cards.update(caller, id, body, request.header('if-match')));
      },
    }),

    defineRoute({
      verb: 'DELETE',
      path: CARD,
      scope: 'cards:write',
      resource: 'card',
      summary: 'Delete a model card',
      detail:
        'The slug can be used again. The versions are kept. To bring the card back, restore one of its versions.',
      answers: { 204: { description: 'The card is deleted' }, 412: stale },
      handle: async ({ values: { id = '' }, caller, ...request }) => {
        await cards.delete(caller, id, request.header('if-match'));
        return { status: 204 };
      },
    }),

    defineRoute({
      verb: 'GET',
      path: VERSIONS,
      scope: 'cards:read',
      resource: 'card',
      summary: 'List the versions of a model card, newest first',
      detail: 'Also works for deleted cards.',
      query: PageQuery,
      answers: { 200: { ...page, schema: CardVersionPage } },
      handle: async ({ values: { id = '' }, query, caller }) => ({
        body: await cards.versions(caller.workspace, id, query),
      }),
    }),

    defineRoute({
      verb: 'GET',
      path: VERSION,
      scope: 'cards:read',
      resource: 'card',
      summary: 'Get one version of a model card',
      answers: { 200: { description: 'The version', schema: CardVersion } },
      handle: async ({ values: { id = '', version = '' }, caller }) => ({
        body: await cards.version(caller.workspace, id, numberOf(version)),
      }),
    }),

    defineRoute({
      verb: 'POST',
      path: `${VERSION}/restore`,
      scope: 'cards:write',
      resource: 'card',
      summary: 'Restore an old version of a model card',
      detail:
        'Creates a new version with the content of the old version. A deleted card becomes visible again.',
      answers: { 200: one, 409: taken, 412: stale },
      handle: async ({ values: { id = '', version = '' }, caller, ...request }) => {
        const condition = request.header('if-match');
        return shown(await cards.restore(caller, id, numberOf(version), condition));
      },
    }),
  ];
}

function shown(card: ModelCard): RouteAnswer & { readonly headers: Record<string, string> } {
  return { headers: { etag: etagOf(card) }, body: card };
}

/** Throws `notFound` if the workspace is not the caller's own. */
function needOwn(caller: Caller, workspace: string | undefined): void {
  if (workspace === undefined || workspace === caller.workspace) return;
  throw new A2AError(
    'notFound',
    `There is no such workspace. Leave out the workspace, or use the workspace of the caller, "${caller.workspace}"`,
  );
}

/** Returns the version number in the path. Returns 0, for which there is never a version, if the text is invalid. */
function numberOf(text: string): number {
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 0;
}
