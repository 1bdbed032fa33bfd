# The app for strangers, on a CPU:
#
#   docker build -t viz-model .
#   docker run --rm --read-only --tmpfs /tmp -p 8501:8501 viz-model
#
# docs/serving.md says more.

FROM python:3.13-slim AS build
WORKDIR /source
RUN python -m venv /opt/viz-model
# By itself, so that a change of the code does not fetch it again; from PyPI it would bring GPU libraries.
RUN /opt/viz-model/bin/pip install --no-cache-dir "torch>=2.9,<2.14" --index-url https://download.pytorch.org/whl/cpu
COPY pyproject.toml README.md LICENSE app.py serve.py ./
COPY .streamlit/config.toml .streamlit/
COPY pages pages/
COPY viz_model viz_model/
RUN /opt/viz-model/bin/pip install --no-cache-dir .

FROM python:3.13-slim
# Pictures with Chinese in them are saved as PDF and PNG in this typeface.
RUN apt-get update && apt-get install --yes --no-install-recommends fonts-noto-cjk && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/viz-model /opt/viz-model
# The number is the one that the hub's Spaces run a container with.
RUN useradd --uid 1000 --no-create-home --shell /usr/sbin/nologin viz
USER 1000
WORKDIR /tmp
ENV PATH=/opt/viz-model/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
EXPOSE 8501
# Loading the first model takes a while before the first visitor is let in.
HEALTHCHECK --interval=30s --timeout=10s --start-period=120s --retries=3 \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=8)"]
ENTRYPOINT ["viz-model", "--public", "--host", "0.0.0.0"]
CMD ["--port", "8501"]
