/**
 * Draws Markdown from peers as elements. HTML in the text is shown as text, images are not loaded, and links lead only
 * to web pages and mail addresses.
 */
import type { Token, Tokens } from 'marked';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { clean } from '../../../display/index.ts';
import { decodedEntities, highlight, markdownTokens } from '../../../display/text/index.ts';
import { Spans } from './lines.tsx';

const MAX_DEPTH = 12;
/** Maximum length of unfinished text that is drawn as Markdown. Such a text is parsed again for every frame. */
const MAX_UNFINISHED = 20_000;

export function Markdown({ text, done }: { readonly text: string; readonly done: boolean }) {
  return useMemo(() => {
    // Hides an incomplete code fence at the end of streamed text.
    const source = done ? text : text.replace(/(^|\n)[`~]{1,2}$/, '');
    if (!done && source.length > MAX_UNFINISHED) return <p class="plain">{clean(source)}</p>;
    const read = markdownTokens(source);
    return 'text' in read ? <p class="plain">{read.text}</p> : <>{blocks(read.tokens, 0)}</>;
  }, [text, done]);
}

function blocks(tokens: readonly Token[], depth: number): ComponentChildren {
  return tokens.map((token) => block(token, depth));
}

function block(token: Token, depth: number): ComponentChildren {
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    case 'heading': {
      const { depth: level, tokens } = token as Tokens.Heading;
      // The page itself has the headings of the first two levels.
      const Level = level <= 1 ? 'h3' : level === 2 ? 'h4' : 'h5';
      return <Level>{inline(tokens)}</Level>;
    }
    case 'code': {
      const { text, lang = '' } = token as Tokens.Code;
      const [name = ''] = lang.split(/[\s,{]/, 1);
      return <Code text={text} language={name} />;
    }
    case 'blockquote':
      return <blockquote>{nested((token as Tokens.Blockquote).tokens, depth)}</blockquote>;
    case 'list':
      return list(token as Tokens.List, depth);
    case 'hr':
      return <hr />;
    case 'table':
      return table(token as Tokens.Table);
    case 'html':
      return <p class="plain dim">{(token as Tokens.HTML).text.trim()}</p>;
    case 'text': {
      const { tokens, text } = token as Tokens.Text;
      return tokens ? inline(tokens) : decodedEntities(text);
    }
    default: {
      const { tokens, text } = token as Tokens.Paragraph;
      return <p>{tokens ? inline(tokens) : text}</p>;
    }
  }
}

function nested(tokens: readonly Token[], depth: number): ComponentChildren {
  return depth < MAX_DEPTH ? blocks(tokens, depth + 1) : tokens.map(({ raw }) => raw);
}

function list(token: Tokens.List, depth: number): ComponentChildren {
  const items = token.items.map((item) => (
    <li class={item.task ? 'task' : undefined}>
      {item.task ? (item.checked === true ? '☑ ' : '☐ ') : null}
      {nested(
        item.tokens.filter(({ type }) => type !== 'checkbox'),
        depth,
      )}
    </li>
  ));
  return token.ordered ? <ol start={Number(token.start)}>{items}</ol> : <ul>{items}</ul>;
}

function table({ header, rows }: Tokens.Table): ComponentChildren {
  return (
    <div class="wide" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {header.map(({ tokens }) => (
              <th scope="col">{inline(tokens)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {row.map(({ tokens }) => (
                <td>{inline(tokens)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Code({ text, language }: { readonly text: string; readonly language: string }) {
  const lines = highlight(text, language);
  return (
    <pre
      class="code"
      tabIndex={0}
      role="region"
      aria-label={language === '' ? 'Code' : `Code, ${language}`}
    >
      <code>
        {lines.map((line, index) => (
          <>
            {index > 0 ? '\n' : null}
            <Spans line={line} />
          </>
        ))}
      </code>
    </pre>
  );
}

function inline(tokens: readonly Token[]): ComponentChildren {
  return tokens.map((token): ComponentChildren => {
    switch (token.type) {
      case 'strong':
        return <strong>{inline((token as Tokens.Strong).tokens)}</strong>;
      case 'em':
        return <em>{inline((token as Tokens.Em).tokens)}</em>;
      case 'del':
        return <del>{inline((token as Tokens.Del).tokens)}</del>;
      case 'codespan':
        return <code>{(token as Tokens.Codespan).text}</code>;
      case 'br':
        return <br />;
      case 'link':
        return link(token as Tokens.Link);
      case 'image': {
        const { text, href } = token as Tokens.Image;
        return <span class="dim">[image: {text === '' ? href : text}]</span>;
      }
      case 'checkbox':
        return null;
      default: {
        const { tokens: inner, text } = token as Tokens.Text;
        return inner && inner.length > 0 ? inline(inner) : decodedEntities(text);
      }
    }
  });
}

/**
 * Draws a link. If its text is not its target, the target follows in parentheses, so that readers see where it leads.
 */
function link({ tokens, href, text }: Tokens.Link): ComponentChildren {
  const url = safeUrl(href);
  if (!url) return [inline(tokens), ` (${href})`];
  const same = href === text || href === `mailto:${text}` || url.href === text;
  return (
    <>
      <SafeLink href={href}>{inline(tokens)}</SafeLink>
      {same ? null : <span class="target"> ({href})</span>}
    </>
  );
}

interface LinkProps {
  readonly href: string;
  readonly children: ComponentChildren;
}

/** A link from a peer. If it does not lead to a web page or a mail address, only its text is drawn. */
export function SafeLink({ href, children }: LinkProps) {
  const url = safeUrl(href);
  if (!url) return <>{children}</>;
  return (
    <a href={url.href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

function safeUrl(href: string): URL | undefined {
  const url = URL.parse(href);
  return url && /^(?:https?|mailto):$/.test(url.protocol) ? url : undefined;
}
