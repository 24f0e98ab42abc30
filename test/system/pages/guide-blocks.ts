/** What a guide page promises, read from the page as it is served. */

/** Commands, and what the page says of them. */
export interface GuideBlock {
  readonly commands: string;
  /** Null: nothing is promised but that they succeed. */
  readonly prints: string | null;
  readonly where: string;
  readonly lasts: string | null;
  readonly asks: string | null;
  readonly untested: string | null;
}

const COMMANDS =
  /<pre class="commands"(?<attributes>[^>]*)><code>(?<commands>.*?)<\/code><\/pre>(?:<pre class="prints"[^>]*><samp>(?<prints>.*?)<\/samp><\/pre>)?/gsu;

/**
 * Every block of commands of a page, in its order. Throws when the page has text in boxes that is neither commands,
 * what they print, nor a file.
 */
export function guideBlocks(html: string): readonly GuideBlock[] {
  const strange = [...html.matchAll(/<pre(?! class="(?:commands|prints|content)")[^>]*>/gu)].map(([tag]) => tag);
  if (strange.length > 0) throw new Error(`the page has boxes of no known kind: ${strange.join(' ')}`);
  return [...html.matchAll(COMMANDS)].map(({ groups = {} }) => {
    const attribute = (name: string) =>
      new RegExp(` data-${name}="(?<value>[^"]*)"`, 'u').exec(groups['attributes'] ?? '')?.groups?.['value'];
    return {
      commands: textOf(groups['commands'] ?? ''),
      prints: groups['prints'] === undefined ? null : textOf(groups['prints']),
      where: attribute('where') ?? '',
      lasts: attribute('lasts') ?? null,
      asks: attribute('asks') ?? null,
      untested: attribute('untested') ?? null,
    };
  });
}

/**
 * Whether this was promised. `…` stands for anything, an id and a time, whole or short, for any other one, and space
 * for more of it. `isWhole`: nothing else came.
 */
export function isPromised(prints: string, printed: string, isWhole: boolean): boolean {
  const pattern = prints
    .trim()
    .split('…')
    .map((part) =>
      part
        .replaceAll(/[.*+?^${}()|[\]\\]/gu, String.raw`\$&`)
        .replaceAll(/[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/gu, '[0-9a-f-]{36}')
        .replaceAll(/\b[0-9a-f]{8}(?:-[0-9a-f]{4})?(?![\w{-])/gu, '[0-9a-f]{8}[0-9a-f-]*')
        .replaceAll(/\b\d+[smhd]\b/gu, String.raw`\d+[smhdy]`)
        .replaceAll(/\d{4}-\d\d-\d\dT[\d:]+\\\.\d+Z/gu, '[0-9TZ:.-]{24}')
        .replaceAll(/\s+/gu, String.raw`\s+`),
    )
    .join(String.raw`[\s\S]*?`);
  return new RegExp(isWhole ? `^\\s*${pattern}\\s*$` : pattern, 'u').test(printed);
}

/** The text of a piece of a page. */
export function textOf(markup: string): string {
  return markup
    .replaceAll(/<[^>]+>/gu, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&');
}
