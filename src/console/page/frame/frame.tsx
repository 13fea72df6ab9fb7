/** The frame around all pages of an agent, a gateway or `parley inspect`: the navigation, and signing in. */
import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { pagesFor, type PageEntry } from './pages.ts';
import { PageButton, Alert, bound, Form } from '../parts/controls.tsx';
import { PageMessage, Problem, useLoaded, ProblemLine, useAction } from '../parts/loading.tsx';
import { SERVER_KIND } from '../server/access.ts';
import { hrefOf, route } from '../server/route.ts';
import type { PageProps, Server } from '../server/server.ts';
import { begin, leave, signedIn, enter } from '../server/sign-in.ts';
import { cleanLine } from '../../../display/index.ts';

export function Frame() {
  useEffect(() => void begin(), []);
  const state = signedIn.value;
  switch (state.kind) {
    case 'in':
      return <SignedInFrame server={state.server} />;
    case 'out':
      return SERVER_KIND === 'inspector' ? (
        <LinkNeeded why={state.why} />
      ) : (
        <SignInForm why={state.why} />
      );
    case 'failed':
      return (
        <main class="card">
          <h1>Parley</h1>
          <Problem error={state.error} onRetry={() => void begin()} />
        </main>
      );
    default:
      return (
        <main class="card" aria-busy="true">
          <p class="dim">Asking the server…</p>
        </main>
      );
  }
}

function SignedInFrame({ server }: { readonly server: Server }) {
  const pages = pagesFor(server);
  const [name, ...path] = route.value.path;
  const page = name === undefined ? pages[0] : pages.find((each) => each.name === name);
  const agent = cleanLine(server.card.name);
  const nav = useRef<HTMLElement>(null);
  const main = useRef<HTMLElement & HTMLDivElement>(null);
  const place = page?.name === 'tasks' ? path[0] : page?.name;
  const before = useRef(place);
  // The page of the conversation has its own landmarks, such as `main`.
  const Content = page?.name === 'conversation' ? 'div' : 'main';

  useEffect(() => {
    document.title = `${page?.title ?? 'Parley'} – ${agent}`;
  }, [page, agent]);
  // Scrolls the navigation to the current page, because the navigation may be wider than the screen of a phone.
  useEffect(() => {
    const current = nav.current?.querySelector('[aria-current]');
    current?.scrollIntoView({ inline: 'nearest', block: 'nearest' });
  }, [page]);
  // When the person has followed a link, the focus moves to the new page, for the keyboard and for screen readers.
  useLayoutEffect(() => {
    if (before.current !== place) main.current?.focus();
    before.current = place;
  }, [place]);

  return (
    <div class="frame">
      <a
        class="skip"
        href={hrefOf(route.value.path, route.value.query)}
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        Skip to the content
      </a>
      <header class="bar">
        <span class="product">{agent}</span>
        <nav aria-label="Pages" ref={nav}>
          {pages
            .filter(({ hidden }) => hidden !== true)
            .map((each) => (
              <a
                key={each.name}
                href={hrefOf([each.name])}
                aria-current={isCurrent(each, page) ? 'page' : undefined}
              >
                {each.title}
              </a>
            ))}
        </nav>
        {server.key === undefined || server.kind === 'inspector' ? null : <Who server={server} />}
      </header>
      <Content class="content" ref={main} tabIndex={-1}>
        {page ? (
          <LoadedPage key={page.name} page={page} server={server} path={path} />
        ) : (
          <NoPage server={server} any={pages.length > 0} />
        )}
      </Content>
    </div>
  );
}

/** Returns whether the navigation marks the entry as the current page. On the page of a task, it marks the inbox. */
function isCurrent(each: PageEntry, page: PageEntry | undefined): boolean {
  return each === page || (page?.name === 'tasks' && each.name === 'inbox');
}

function Who({ server }: { readonly server: Server }) {
  const { keyName, subject, workspaceId } = server.caller ?? {};
  const name = keyName ?? subject;
  return (
    <div class="who">
      {name === undefined ? null : (
        <span class="dim">
          {cleanLine(name)} in {cleanLine(workspaceId ?? '')}
        </span>
      )}
      <PageButton class="quiet" onClick={() => leave()}>
        Sign out
      </PageButton>
    </div>
  );
}

function LoadedPage({ page, server, path }: PageProps & { readonly page: PageEntry }) {
  const loaded = useLoaded(page.load, [page]);
  if (loaded.error !== undefined) {
    return (
      <>
        <Problem error={loaded.error} onRetry={loaded.reload} />
        <p class="dim">If the server was updated, reload this page in the browser.</p>
      </>
    );
  }
  const Page = loaded.value;
  return Page ? <Page server={server} path={path} /> : null;
}

function NoPage({ server, any }: { readonly server: Server; readonly any: boolean }) {
  const scopes = server.caller?.scopes ?? [];
  if (any) {
    return (
      <PageMessage title="There is no such page for this key">
        <p>
          <a href={hrefOf([])}>Go to the first page</a>
        </p>
      </PageMessage>
    );
  }
  return (
    <PageMessage title="This key may use none of the pages">
      <p>
        Its scopes are: {scopes.length === 0 ? 'none' : scopes.join(', ')}. A key with the scope{' '}
        <code>tasks:read</code> sees the tasks.
      </p>
    </PageMessage>
  );
}

const WORDS =
  SERVER_KIND === 'gateway'
    ? {
        title: 'Parley gateway',
        label: 'Key',
        about: 'Sign in with a key of this gateway. The page shows what the key may use.',
        kept: 'The key stays in the memory of this page: when you reload or close the page, it is forgotten.',
      }
    : {
        title: 'Parley',
        label: 'Token',
        about: 'This agent needs a token.',
        kept: 'The token stays in this tab: when you close the tab, it is forgotten.',
      };

/** The form that asks for a key or a token. */
function SignInForm({ why }: { readonly why: string }) {
  const field = useRef<HTMLInputElement>(null);
  const key = useSignal('');
  const { busy, problem, run } = useAction();
  useLayoutEffect(() => field.current?.focus(), []);
  const send = () => {
    const given = key.value.trim();
    if (given !== '') run(() => enter(given).finally(() => field.current?.select()));
  };
  return (
    <main class="card">
      <h1>{WORDS.title}</h1>
      <p>{WORDS.about}</p>
      <Alert text={why} />
      {problem === undefined ? null : <ProblemLine error={problem} />}
      <Form onSubmit={send}>
        <label for="key">{WORDS.label}</label>
        <input
          id="key"
          ref={field}
          type="password"
          autocomplete="off"
          spellcheck={false}
          aria-describedby="key-kept"
          {...bound(key)}
        />
        <button type="submit" class="option allow" disabled={busy}>
          Sign in
        </button>
      </Form>
      <p id="key-kept" class="dim small">
        {WORDS.kept}
      </p>
    </main>
  );
}

/** Shown on the page of `parley inspect` instead of the form, because only a link opens that page. */
function LinkNeeded({ why }: { readonly why: string }) {
  return (
    <main class="card">
      <h1>Parley inspector</h1>
      <Alert text={why} />
      <p>
        Start <code>parley inspect URL</code> again, and open the link that it prints. A link works
        once, for two minutes.
      </p>
    </main>
  );
}
