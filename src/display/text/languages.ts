/** The languages of the highlighter, with their patterns for comments and strings, and their keywords. */
export interface Language {
  /** The pattern of a comment. It is tried before `string`. Both patterns are sticky. */
  readonly comment: RegExp;
  readonly string: RegExp;
  readonly keywords: ReadonlySet<string>;
  /** Whether keywords are case-insensitive. */
  readonly anyCase?: boolean;
}

const SLASHES = /\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)/y;
const HASH = /#[^\n]*/y;
const DASHES = /--[^\n]*|\/\*[^]*?(?:\*\/|$)/y;
const TAGS = /<!--[^]*?(?:-->|$)/y;
const NOTHING = /(?!)/y;

const QUOTES = /"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?/y;
const QUOTES_AND_TICKS = /"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|`(?:\\[^]|[^`\\])*`?/y;
const PYTHON_QUOTES =
  /[rbfu]{0,2}(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)/y;
const DOUBLE_QUOTES = /"(?:\\.|[^"\\\n])*"?/y;
// A single apostrophe starts a Rust lifetime, not a string.
const RUST_QUOTES = /b?"(?:\\.|[^"\\])*"?|b?'(?:\\.|[^'\\\n])'/y;

function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

/** The languages by their names. The keywords are one text, with white space between them. */
const LANGUAGES: Readonly<
  Record<string, Omit<Language, 'keywords'> & { readonly keywords: string }>
> = {
  'js javascript mjs cjs jsx ts typescript mts cts tsx': {
    comment: SLASHES,
    string: QUOTES_AND_TICKS,
    keywords: `abstract as async await break case catch class const continue debugger declare default delete do
    else enum export extends false finally for from function get if implements import in infer instanceof interface is
    keyof let namespace new null of override private protected public readonly return satisfies set static super switch
    this throw true try type typeof undefined using var void while with yield`,
  },
  'py python python3': {
    comment: HASH,
    string: PYTHON_QUOTES,
    keywords: `and as assert async await break case class continue def del elif else except False finally for from
    global if import in is lambda match None nonlocal not or pass raise return self True try while with yield`,
  },
  'sh bash zsh shell shell-session console fish dockerfile makefile make': {
    comment: HASH,
    string: QUOTES,
    keywords: `case cd do done echo elif else esac eval exec exit export fi for function if in local read return set
    shift source test then trap unset until while`,
  },
  'go golang': {
    comment: SLASHES,
    string: QUOTES_AND_TICKS,
    keywords: `break case chan const continue default defer else fallthrough false for func go goto if import
    interface map nil package range return select struct switch true type var`,
  },
  'rs rust': {
    comment: SLASHES,
    string: RUST_QUOTES,
    keywords: `as async await break const continue crate dyn else enum extern false fn for if impl in let loop match
    mod move mut pub ref return self Self static struct super trait true type unsafe use where while`,
  },
  'c h cpp c++ cc hpp cs csharp java kotlin kt swift scala dart php groovy proto protobuf': {
    comment: SLASHES,
    string: QUOTES,
    keywords: `abstract auto bool boolean break byte case catch char class const continue default delete do double
    else enum explicit extends extern false final finally float for foreach fun function goto if implements import
    inline int interface internal let long namespace new null nullptr operator override package private protected public
    record return sealed short signed sizeof static struct super switch synchronized template this throw throws true try
    typedef typename union unsigned using val var virtual void volatile when while`,
  },
  'rb ruby elixir ex exs': {
    comment: HASH,
    string: QUOTES,
    keywords: `alias and begin break case class def do else elsif end ensure false for if in module next nil not or
    redo require rescue retry return self super then true undef unless until when while yield`,
  },
  'sql postgres postgresql mysql sqlite': {
    comment: DASHES,
    string: QUOTES,
    anyCase: true,
    keywords: `add all alter and as asc begin between by case check column commit constraint create cross default
    delete desc distinct drop else end exists foreign from full group having in index inner insert into is join key left
    like limit not null offset on or order outer primary references returning right rollback select set table then union
    unique update using values view when where with`,
  },
  'yaml yml toml': { comment: HASH, string: QUOTES, keywords: 'true false null yes no on off' },
  'json jsonc json5 ndjson': {
    comment: SLASHES,
    string: DOUBLE_QUOTES,
    keywords: 'true false null',
  },
  'html xml svg vue svelte': { comment: TAGS, string: QUOTES, keywords: '' },
  'css scss less': {
    comment: SLASHES,
    string: QUOTES,
    keywords: 'important media import from to and not',
  },
  'ini conf cfg properties env': { comment: /[#;][^\n]*/y, string: QUOTES, keywords: 'true false' },
  'text txt plain plaintext': { comment: NOTHING, string: NOTHING, keywords: '' },
};

const BY_NAME = new Map(
  Object.entries(LANGUAGES).flatMap(([names, { keywords, ...language }]) => {
    const read: Language = { ...language, keywords: words(keywords) };
    return names.split(' ').map((name) => [name, read] as const);
  }),
);

export function languageNamed(name: string): Language | undefined {
  return BY_NAME.get(name.toLowerCase());
}
