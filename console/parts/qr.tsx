/** A text as a QR code, drawn on a canvas. What encodes it is loaded when the first one is shown. */
import { useEffect, useRef } from 'preact/hooks';

/** Blank modules around it, which readers need. Source: ISO/IEC 18004. */
const QUIET_MODULES = 4;

/** Side of a module, in pixels. */
const MODULE_PX = 3;

/** Dark on white in both themes: many readers take nothing else. `label`: what it is, for whoever does not see it. */
export function Qr({ text, label }: { readonly text: string; readonly label: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const draw = async (): Promise<void> => {
      const { encode } = await import('uqr');
      const { data, size } = encode(text, { border: 0 });
      const context = canvas.current?.getContext('2d');
      if (canvas.current === null || context == null) return;
      const side = (size + QUIET_MODULES * 2) * MODULE_PX;
      canvas.current.width = side;
      canvas.current.height = side;
      context.fillStyle = '#fff';
      context.fillRect(0, 0, side, side);
      context.fillStyle = '#000';
      for (const [y, row] of data.entries())
        for (const [x, isDark] of row.entries())
          if (isDark)
            context.fillRect((x + QUIET_MODULES) * MODULE_PX, (y + QUIET_MODULES) * MODULE_PX, MODULE_PX, MODULE_PX);
    };
    // a code that cannot be loaded is missing, and the line stands beside it
    draw().catch(() => undefined);
  }, [text]);
  return <canvas ref={canvas} class="qr" role="img" aria-label={label} width={0} height={0} />;
}
