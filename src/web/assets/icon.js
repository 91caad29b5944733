/*
 * Converts a chosen picture to the icon format of games: 64 × 64 pixels, with the picture centred and as large as fits.
 */
const PIXELS = 64;
const input = document.querySelector('[data-icon]');

input.accept = 'image/*';
input.addEventListener('change', () => void scale());

async function scale() {
  const [file] = input.files;
  // A file that is not a picture is sent unchanged. The service refuses it with a message.
  const picture = file && (await createImageBitmap(file).catch(() => undefined));
  if (!picture || (file.type === 'image/png' && picture.width === PIXELS && picture.height === PIXELS)) return;
  const canvas = new OffscreenCanvas(PIXELS, PIXELS);
  const [width, height] = [picture.width, picture.height].map(
    (side) => (side * PIXELS) / Math.max(picture.width, picture.height),
  );
  const drawing = canvas.getContext('2d');
  drawing.imageSmoothingQuality = 'high';
  drawing.drawImage(picture, (PIXELS - width) / 2, (PIXELS - height) / 2, width, height);
  const png = await canvas.convertToBlob({ type: 'image/png' });
  if (input.files[0] !== file) return;
  const chosen = new DataTransfer();
  chosen.items.add(new File([png], 'server-icon.png', { type: 'image/png' }));
  input.files = chosen.files;
}
